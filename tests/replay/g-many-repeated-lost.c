/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G10: a request for several keys is repeated after it was granted,
 * and one of its leases has been lost; just after the repeated call has seen
 * them all, or before.  The repeated call must report that the lease has ended,
 * acquire nothing new by that id, and leave the other leases to the first call.
 *
 * Otherwise the same request would hold the key a second time, or would release
 * what the first call relies on.
 */
#include <errno.h>
#include "replay.h"

static const struct lh_item items[] = { { .key = "a" }, { .key = "b" },
	{ .key = "c" } };

struct call {
	struct lh *lh;
	uint64_t number;
	struct lh_lease l[3];
};

static int
acquire(void *arg)
{
	struct call *c = arg;
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 2000);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

	more.request[0] = 7;
	more.request[1] = c->number << 32;
	o.more = &more;
	return lh_acquire_many(c->lh, items, 3, &o, c->l);
}

static void
lost_after(struct lh *lh, struct lh *other, uint64_t number, int seen)
{
	struct call first = { .lh = lh, .number = number }, again = first;

	is(acquire(&first), 0, "all three keys are acquired");
	if (seen > 0) {
		replay_stop_nth("repeater", "many.won", seen, acquire, &again);
	}
	is(lh_break(other, "b", NULL, 0), 1, "the lease on b is broken");
	if (seen > 0) {
		is(replay_finish("repeater"), -ESTALE,
		    "the repeated call reports its end (%d seen)",
		    seen);
	}
	is(acquire(&again), -ESTALE, "so does the next one");
	is(lh_verify(lh, &first.l[0]), 0, "the first call holds a");
	is(lh_verify(lh, &first.l[2]), 0, "and c");
	is(lh_verify(lh, &first.l[1]), -ESTALE, "and has lost b");
	is(lh_release(lh, &first.l[0]), 0, "released");
	is(lh_release(lh, &first.l[2]), 0, "released");
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0), *other = replay_open(table, 0);

	lost_after(lh, other, 1, 3);
	lost_after(lh, other, 2, 1);
	lost_after(lh, other, 3, 0);
	t_close(other);
	t_close(lh);
	return done();
}
