/* SPDX-License-Identifier: MIT */
/*
 * Asks the table for the present holders of a key, for `log --at`.
 *
 * The flight recorder is read from the table's memory as it is.  Only an
 * attached process can find out whether a holder still lives: it checks the
 * sign of life, which a descendant of the holder may keep.  So the table is
 * asked first, without a session, because opening one would itself be an event.
 * Without that answer, a holder whose process cannot be seen may have died.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <leasehold.h>
#include "log_now.h"

static int
note_holders(const struct lh_key_info *info, void *arg)
{
	struct log_now *now = arg;

	if (info->n_holders == 0)
		return 0;
	now->leases = calloc(info->n_holders, sizeof(*now->leases));
	if (now->leases == NULL)
		return -ENOMEM;
	for (; now->n < info->n_holders; now->n++) {
		now->leases[now->n].session = info->holders[now->n].id[0];
		now->leases[now->n].token = info->holders[now->n].token;
	}
	return 0;
}

int
log_now_ask(struct log_now *now, const struct log_opts *o)
{
	struct lh *lh;
	int error;

	*now = (struct log_now){ .asked = false };
	if (o->file != NULL)
		return 0;
	error = open_table(&lh, &o->table, LH_LOOK, NULL);
	if (error == -EUCLEAN || error == -EPROTO)
		return error;
	if (error != 0)
		return 0;
	error = lh_status(lh, o->key, NULL, note_holders, now);
	now->asked = error == 0 || error == -ENOENT;
	(void)lh_close(lh);
	return error == -ENOMEM ? error : 0;
}

bool
log_now_has_ended(const struct log_now *now, const struct lh_party *p)
{
	if (!now->asked)
		return (p->flags & LH_PARTY_SESSION) == 0 &&
		    kill((pid_t)p->pid, 0) != 0 && errno == ESRCH;
	for (size_t i = 0; i < now->n; i++)
		if (now->leases[i].session == p->id[0] &&
		    now->leases[i].token == p->token)
			return false;
	return true;
}

void
log_now_free(struct log_now *now)
{
	free(now->leases);
}
