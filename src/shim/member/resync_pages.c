/* SPDX-License-Identifier: MIT */
/*
 * Schedules full reads of everything under our root, and reads them page by
 * page.  resync.c handles each page (r->on_page).
 */
#include <stdio.h>
#include "member.h"

#define PAGE 1000

void
resync_soon(struct recipe *r, unsigned ms)
{
	struct timeval at, in = { ms / 1000, ms % 1000 * 1000 }, now, left;

	if (r->stopped)
		return;
	if (event_pending(&r->resync_timer, EV_TIMEOUT, &at)) {
		(void)event_base_gettimeofday_cached(r->o.base, &now);
		evutil_timersub(&at, &now, &left);
		if (evutil_timercmp(&left, &in, <))
			return;
	}
	timers_start(&r->resync_timer, ms);
}

static struct kv_range
range_under(struct recipe *r, const char *what, char *from, char *to)
{
	(void)sprintf(from, "%s/%s/", r->root, what);
	(void)sprintf(to, "%s/%s0", r->root, what);
	return (struct kv_range){kv_bytes_of_text(from), kv_bytes_of_text(to)};
}

static int
page_send(struct store_call *call)
{
	struct recipe *r = call->r;
	struct txn *t = txn_begin(r);
	char from[2][ROOT_MAX + 8], to[2][ROOT_MAX + 8];
	struct kv_range rest = range_under(r, "q", from[0], to[0]);
	struct kv_op *op;

	if (r->resync_from_len > 0)
		rest.key = (struct kv_bytes){ (uint8_t *)r->resync_from,
		    r->resync_from_len };
	op = txn_get(t, true, rest);
	op->keys_only = true;
	op->limit = PAGE;
	if (r->resync_from_len == 0)
		(void)txn_get(t, true, range_under(r, "s", from[1], to[1]));
	return txn_send(call);
}

static void
page_done(struct store_call *call, const struct kv_answer *answer)
{
	call->r->on_page(call, answer);
}

static const struct store_call_ops page_ops = {
	.send = page_send, .done = page_done
};

void
resync_next_page(struct recipe *r)
{
	r->resync_call = store_call_start(r, &page_ops, r, NULL);
	if (r->resync_call == NULL)
		resync_soon(r, 1000);
}

void
resync_start(struct recipe *r, bool because_of_gap)
{
	if (r->stopped)
		return;
	if (because_of_gap)
		r->stats.gaps++;
	if (r->resync_call != NULL) {
		r->resync_again = true;
		return;
	}
	r->stats.lists++;
	r->resync_again = r->resync_no_memory = false;
	r->pass = r->adopting;
	r->resync_from_len = 0;
	resync_next_page(r);
}

void
resync_on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	resync_start(arg, false);
}
