/* SPDX-License-Identifier: MIT */
/*
 * One key of `leasehold top`: its holders and its waiters, in lines for the
 * screen.
 *
 * It asks nothing but the table.  `leasehold explain` says what the processes
 * do and what they wait for in turn, which costs too much to be asked each
 * second.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "daemon/text.h"
#include "show.h"
#include "show_state.h"
#include "top_key.h"

struct writer {
	FILE *out;
	int64_t now_ns;
};

static void
write_holder(const struct writer *w, const struct lh_party *p)
{
	char who[PARTY_MAX], held[SPAN_MAX], left[SPAN_MAX];
	char info[INFO_MAX_TEXT];

	fprintf(w->out, "  %s, %s, token %" PRIu64 ", for %s, %s left%s\n",
	    show_party(who, p), show_mode(p->mode), p->token,
	    text_span(held, w->now_ns - p->since_ns),
	    show_left(left, p, w->now_ns), show_info(info, ": ", p));
}

static void
write_waiter(const struct writer *w, const struct lh_party *p)
{
	char who[PARTY_MAX], waited[SPAN_MAX], info[INFO_MAX_TEXT];

	fprintf(w->out, "%3" PRIu32 "  %s, %s, priority %" PRIu32 ", for %s%s%s"
	    "\n", p->rank, show_party(who, p), show_mode(p->mode), p->priority,
	    text_span(waited, w->now_ns - p->since_ns),
	    p->flags & LH_PARTY_SUSPECT ? ", passed over" : "",
	    show_info(info, ": ", p));
}

static int
write_key(const struct lh_key_info *info, void *arg)
{
	const struct writer *w = arg;
	char name[NAME_MAX_TEXT];

	fprintf(w->out, "'%s' %s\n", text_name(name, info->key),
	    show_state_is_held_here(info) ? "is held by" :
	    "is held by nobody in this table");
	for (uint32_t i = 0; i < info->n_holders; i++)
		write_holder(w, &info->holders[i]);
	if (info->inconsistent)
		fprintf(w->out, "  a robust holder did not release it\n");
	fprintf(w->out, "\n%" PRIu32 " waiting%s\n", info->n_waiters,
	    info->n_waiters == 0 ? "" : ", in the order in which they are "
	    "due:");
	for (uint32_t i = 0; i < info->n_waiters; i++)
		write_waiter(w, &info->waiters[i]);
	return 0;
}

int
top_key_read(struct top_key *k, struct lh *lh, const char *key)
{
	struct writer w = { .now_ns = lh_clock_ns(lh) };
	char name[NAME_MAX_TEXT];
	int e;

	top_key_free(k);
	w.out = open_memstream(&k->text, &k->len);
	if (w.out == NULL)
		return -ENOMEM;
	e = lh_status(lh, key, NULL, write_key, &w);
	if (e == -ENOENT) {
		fprintf(w.out, "the table does not know '%s' any more\n",
		    text_name(name, key));
		e = 0;
	}
	if (fclose(w.out) != 0 && e == 0)
		e = -ENOMEM;
	return e;
}

void
top_key_free(struct top_key *k)
{
	free(k->text);
	*k = (struct top_key){ NULL, 0 };
}
