/* SPDX-License-Identifier: MIT */
/* test: tsan */
/*
 * lh_watch_next(): each watch gets every change that it asked for, whatever
 * other watches read: numbers without a gap; one that lags gets its oldest
 * changes merged.
 *
 * Otherwise one slow reader would make another miss a loss.
 */
#include <errno.h>
#include <poll.h>
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

#define ROUNDS	50		/* two changes each: more than a queue has */

static int
readable(const struct lh_watch *w)
{
	struct pollfd p = { .fd = lh_watch_fd(w), .events = POLLIN };

	return poll(&p, 1, 0);
}

/* All it has: without a gap?  The bits of all, and how many changes. */
static void
drain(struct lh_watch *w, uint64_t *seq, uint32_t *what, uint64_t *changes)
{
	struct lh_event e = LH_EVENT_INIT;
	int gaps = 0, r;

	while ((r = lh_watch_next(w, &e)) == 0) {
		gaps += e.seq - e.count != *seq;
		*seq = e.seq;
		*what |= e.what;
		*changes += e.count;
	}
	is(r, -EAGAIN, "then there is none");
	is(gaps, 0, "no gap");
	is(readable(w), 0, "and nothing to read");
}

static void
play(void)
{
	struct lh *lh = t_open(t_table());
	struct lh_acquire_opts a = t_opts(60000, 0);
	uint64_t quick_seq = 0, slow_seq = 0, late_seq, n_quick = 0, n_slow = 0;
	struct lh_lock_state s = { .size = sizeof(s) }, after = s;
	struct lh_watch *quick, *slow, *late, *picky;
	struct lh_event e = LH_EVENT_INIT;
	uint32_t what_quick = 0, what_slow = 0, what = 0;
	int n = 0, not_told = 0;
	struct lh_lock *l;

	is(lh_lock_open(lh, "k", NULL, &l), 0, "a handle");
	is(lh_lock_watch(l, 0, &quick), 0, "a watch");
	is(lh_lock_watch(l, LH_EVENT_ALL, &slow), 0, "another");
	is(lh_lock_watch(l, LH_EVENT_RELEASED, &picky), 0, "one for releases");
	ok(lh_watch_fd(quick) != lh_watch_fd(slow), "descriptors of their own");
	is(readable(quick), 0, "nothing has happened");
	for (int i = 0; i < ROUNDS; i++) {
		not_told += lh_lock_acquire(l, &a) != 0 ||
		    readable(quick) != 1 || lh_watch_next(quick, &e) != 0;
		not_told += e.what != LH_EVENT_ACQUIRED || e.count != 1 ||
		    e.seq != ++quick_seq || e.status != LH_LOCK_HELD;
		not_told += lh_lock_release(l) != 0 ||
		    lh_watch_next(quick, &e) != 0;
		not_told += e.what != LH_EVENT_RELEASED ||
		    e.seq != ++quick_seq || readable(quick) != 0;
	}
	is(not_told, 0, "told at once, one by one");
	while (lh_watch_next(picky, &e) == 0)
		n += (int)e.count;
	is(n, ROUNDS, "all releases and nothing else");
	is(lh_lock_watch(l, 0, &late), 0, "who comes late");
	is(lh_lock_state(l, &s), 0, "begins with the state");
	late_seq = s.seq;
	ok(s.seq == 2 * ROUNDS, "which has the number");

	a.ttl_ms = t_long(300);
	is(lh_lock_acquire(l, &a), 0, "renewed often");
	is(lh_lock_renew_every(l, 2), 0, "every 2 ms");
	ok(t_until(T_HANG_MS, lh_lock_state(l, &s) == 0 &&
	    s.renewals > ROUNDS), "%d times", ROUNDS);
	is(lh_lock_renew_every(l, 0), 0, "stopped");
	is(lh_lock_state(l, &s), 0, "its state");
	ok(t_until(T_HANG_MS, lh_lock_valid(l) == -ESTALE), "it runs out");
	ok(t_until(T_HANG_MS, lh_lock_state(l, &after) == 0 &&
	    after.status == LH_LOCK_LOST), "which the watch reports");
	is(readable(picky), 0, "not as a release");
	drain(quick, &quick_seq, &what_quick, &n_quick);
	ok(quick_seq == s.seq + 1, "nothing between stop and loss");
	drain(slow, &slow_seq, &what_slow, &n_slow);
	ok(slow_seq == quick_seq, "the slow one as far");
	ok(n_slow == slow_seq, "with all changes");
	is(what_slow, LH_EVENT_ACQUIRED | LH_EVENT_RELEASED |
	    LH_EVENT_RENEWED | LH_EVENT_LOST, "of every kind");
	drain(late, &late_seq, &what, &n_quick);
	ok(late_seq == quick_seq, "the late one as well");

	is(lh_lock_close(l), 0, "the handle is closed");
	is(readable(late), 1, "which the watch reports");
	is(lh_watch_next(late, &e), 0, "by an event");
	is(e.what, LH_EVENT_CLOSED, "of its own");
	is(readable(picky), 1, "to everyone");
	lh_watch_close(quick);
	lh_watch_close(slow);
	lh_watch_close(late);
	lh_watch_close(picky);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 300, "watch misses nothing");
	return done();
}
