/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G3 and G9: the lease of a live handle is extended by hand, which
 * watches see, and renewals go on with the new ttl.  A lost lease is not
 * extended, and its loss is one event (issue 24, F2).
 *
 * Otherwise a program that needs more time for a step would have to extend a
 * copy of the lease, and the handle would shorten it again.
 */
#include <errno.h>
#include "support/support.h"
#include "tap.h"

#define LONG_MS 600000

static void
next_is(struct lh_watch *w, uint32_t what, struct lh_event *e)
{
	*e = (struct lh_event)LH_EVENT_INIT;
	is(lh_watch_next(w, e), 0, "an event");
	is(e->what, what, "  it is that one");
}

/* (deadlines are rounded up to 2^20 ns) */
static int64_t
left_ms(int64_t end_ns)
{
	return (end_ns - (1 << 20) - t_now_ns()) / T_NS_PER_MS;
}

static void
extends_one(struct lh *lh)
{
	struct lh_lock_state s = { .size = sizeof(s) };
	struct lh_acquire_opts a = t_opts(30000, 0);
	struct lh_watch *w;
	struct lh_event e;
	struct lh_lock *l;
	int64_t end = -1;

	is(lh_lock_open(lh, "k", NULL, &l), 0, "a handle");
	is(lh_lock_extend(l, 1000, &end), -ENOLCK, "that holds nothing");
	is(lh_lock_acquire(l, &a), 0, "acquires");
	is(lh_lock_watch(l, 0, &w), 0, "a watch");
	is(lh_lock_extend(l, LONG_MS, &end), 0, "extended");
	cmp(left_ms(end), <=, LONG_MS, "  by that time");
	cmp(left_ms(end), >, LONG_MS - t_ms(20000), "  from now on");
	next_is(w, LH_EVENT_RENEWED, &e);
	ok(e.expires_ns == end, "  with its new end");
	is(lh_lock_state(l, &s), 0, "the state");
	ok(s.lease.expires_ns == end, "  has that end");
	is(lh_verify(lh, &s.lease), 0, "  and the table has the lease");
	cmp(left_ms(s.next_ns), >, 30000, "it is renewed by the new ttl");
	is(lh_lock_extend(l, 60000, NULL), 0, "a shorter time");
	is(lh_lock_state(l, &s), 0, "  its state");
	cmp(left_ms(s.lease.expires_ns), <=, 60000, "  is as short");
	cmp(left_ms(s.next_ns), <=, 20000, "  and renewed sooner");
	next_is(w, LH_EVENT_RENEWED, &e);

	is(lh_break(lh, "k", NULL, 0), 1, "it is broken");
	is(lh_lock_extend(l, LONG_MS, &end), -ESTALE, "no extension then");
	ok(t_until(1000, lh_lock_state(l, &s) == 0 &&
	    s.status == LH_LOCK_LOST), "the handle knows of the loss");
	next_is(w, LH_EVENT_LOST, &e);
	is(e.loss, LH_LOSS_BROKEN, "  and its reason");
	is(lh_lock_extend(l, LONG_MS, &end), -ESTALE, "nor later");
	is(lh_watch_next(w, &e), -EAGAIN, "no other event");
	is(lh_lock_release(l), -ESTALE, "it was lost");
	is(lh_lock_acquire(l, &a), 0, "acquired again");
	is(lh_lock_release(l), 0, "released");
	is(lh_lock_extend(l, LONG_MS, &end), -ESTALE, "a released one neither");
	is(lh_watch_close(w), 0, "the watch is closed");
	is(lh_lock_close(l), 0, "and the handle");
}

static void
extends_many(struct lh *lh)
{
	const struct lh_item items[] = { { .key = "a" }, { .key = "b" } };
	struct lh_acquire_opts a = t_opts(30000, 0);
	struct lh_lease lease[2];
	struct lh_lock *l;
	int64_t end = -1;

	is(lh_lock_open_many(lh, items, 2, NULL, &l), 0, "of two keys");
	is(lh_lock_acquire(l, &a), 0, "  acquired");
	is(lh_lock_extend(l, LONG_MS, &end), 0, "  extended");
	for (size_t i = 0; i < 2; i++) {
		is(lh_lock_lease(l, i, &lease[i]), 0, "  its lease");
		cmp(lease[i].expires_ns, >=, end, "  ends no sooner");
		cmp(left_ms(lease[i].expires_ns), >, 60000, "  but late");
	}
	is(lh_break(lh, "b", NULL, 0), 1, "one is broken");
	is(lh_lock_extend(l, LONG_MS, &end), -ESTALE, "all are lost");
	is(lh_verify(lh, &lease[0]), -ESTALE, "  the other one as well");
	is(lh_lock_close(l), 0, "closed");
}

static void
extends_strict(struct lh *lh)
{
	struct lh_acquire_more m = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts a = t_opts(1, 0);
	struct lh_lock *l;
	int64_t end = -1;

	m.policy = LH_POLICY_STRICT;
	a.more = &m;
	is(lh_lock_open(lh, "s", NULL, &l), 0, "a strict lease");
	is(lh_lock_acquire(l, &a), 0, "  acquired");
	is(lh_lock_extend(l, 1, &end), 0, "  extended");
	ok(end == INT64_MAX, "  which never ends");
	t_sleep_ms(5);
	is(lh_lock_valid(l), 0, "  nor later");
	is(lh_lock_release(l), 0, "released");
	is(lh_lock_close(l), 0, "closed");
}

int
main(void)
{
	struct lh *lh = t_open(t_table());

	extends_one(lh);
	extends_many(lh);
	extends_strict(lh);
	t_close(lh);
	return done();
}
