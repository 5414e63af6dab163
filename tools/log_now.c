/* SPDX-License-Identifier: MIT */
/*
 * Asks the table for the present holders of a key, for `log --at`.
 *
 * The flight recorder is read from the table's memory as it is.  Only an
 * attached process can find out whether a holder still lives: it checks the
 * sign of life, which a descendant of the holder may keep.  So the table is
 * asked first, without a session, because opening one would itself be an event.
 * Without that answer it is not known whether a holder lives: its pid may be
 * one of another namespace, or of another process by now.
 */
#include <errno.h>
#include <stdlib.h>
#include <leasehold.h>
#include "log_now.h"
#include "moment.h"
#include "show_state.h"

static int
note_holders(const struct lh_key_info *info, void *arg)
{
	struct log_now *now = arg;

	now->cluster = info->cluster != LH_CLUSTER_LOCAL;
	now->elsewhere = show_state(info) == KEY_ELSEWHERE ||
	    show_state(info) == KEY_UNKNOWN;
	if (info->n_holders == 0)
		return 0;
	now->leases = calloc(info->n_holders, sizeof(*now->leases));
	if (now->leases == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < info->n_holders; i++) {
		if (!show_state_holds(&info->holders[i]))
			continue;
		now->leases[now->n].session = info->holders[i].id[0];
		now->leases[now->n++].token = info->holders[i].token;
	}
	return 0;
}

int
log_now_ask(struct log_now *now, const struct log_opts *o)
{
	struct lh *lh;
	int error;

	*now = (struct log_now){
		.cluster = show_state_may_be_elsewhere(o->key)
	};
	if (o->file != NULL)
		return 0;
	error = open_table(&lh, &o->table, LH_LOOK, NULL);
	if (error == -EUCLEAN || error == -EPROTO)
		return error;
	if (error != 0)
		return 0;
	error = lh_status(lh, o->key, NULL, note_holders, now);
	now->asked = (error == 0 || error == -ENOENT) && !now->elsewhere;
	(void)lh_close(lh);
	return error == -ENOMEM ? error : 0;
}

enum log_now_answer
log_now_is_held(const struct log_now *now, const struct lh_party *p)
{
	if (!now->asked)
		return LOG_NOW_UNKNOWN;
	for (size_t i = 0; i < now->n; i++)
		if (now->leases[i].session == p->id[0] &&
		    now->leases[i].token == p->token)
			return LOG_NOW_HELD;
	return LOG_NOW_ENDED;
}

void
log_now_set_clock(struct log_now *now, const struct lh_dump_table *t)
{
	now->other_clock = (t->flags & LH_DUMP_OTHER_CLOCK) != 0;
	if (t->clock_ns != 0) {
		now->now_ns = t->clock_ns;
		now->zero_ms = moment_now_ms() - t->clock_ns / 1000000;
	} else {
		now->zero_ms = t->zero_epoch_ms;
		now->now_ns = (moment_now_ms() - now->zero_ms) * 1000000;
	}
}

void
log_now_free(struct log_now *now)
{
	free(now->leases);
}
