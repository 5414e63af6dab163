/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G6, timing T3, amendment C4: a waiter that leaves the queue wakes
 * the waiter that is first then.
 *
 * Two threads of one process wait; only the first watches the holder, the
 * second sleeps for long.  The release finds the first awake and wakes nobody.
 * Then the first is cancelled, and leaves without another look at the key.
 *
 * Otherwise the key would be free while the second waiter sleeps on until its
 * long sleep ends.
 */
#include "replay.h"

static void
play_all(void)
{
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0), *p = replay_open(table, 0);
	struct lh_lease k = t_hold(lh, "k");
	struct lh_cancel off = LH_CANCEL_INIT;
	struct replay_call first = REPLAY_CALL(p, "k", 10000, REPLAY_LONG_MS);
	struct replay_call second = first;
	int64_t free_ns;

	first.cancel = &off;
	replay_go("first", replay_acquire, &first);
	ok(t_await_waiters(lh, "k", 1), "the first waiter is queued");
	replay_go("second", replay_acquire, &second);
	ok(t_await_waiters(lh, "k", 2), "the second is queued behind it");
	/* the second waiter has just looked for deadlocks (40 ms after its
	 * start, then after 20, 40, 80, ... ms), and sleeps for 250 ms or
	 * more */
	t_sleep_ms(1325);
	replay_hold("first", "wait.looked");
	replay_wait_held("first");	/* it looks again after 20 ms */

	is(lh_release(lh, &k), 0, "the holder releases");
	is(lh_cancel(&off), 0, "the first one is cancelled");
	free_ns = t_now_ns();
	is(replay_finish("first"), -ECANCELED, "it leaves the queue");
	is(replay_result("second"), 0, "the second one is granted");
	cmp((second.ended_ns - free_ns) / T_NS_PER_MS, <, T3_MS,
	    "within T3 of the release");
	is(lh_release(p, &second.lease), 0, "release");
	t_close(p);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 200, "leaver wakes");
	return done();
}
