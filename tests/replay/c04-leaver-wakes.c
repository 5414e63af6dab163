/* SPDX-License-Identifier: MIT */
/*
 * C4: whoever leaves a queue wakes who is first then.
 *
 * Two threads of one process wait; only the first of them watches the holder,
 * the second sleeps long.  The first is awake when the release comes, so the
 * release wakes nobody; then it is cancelled, and leaves without looking again.
 * The lock is free: the second must have it at once, not when its long sleep is
 * over.
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
	ok(t_await_waiters(lh, "k", 1), "one waits");
	replay_go("second", replay_acquire, &second);
	ok(t_await_waiters(lh, "k", 2), "and another one behind it");
	/* it has just looked for deadlocks (40 ms after it began, and 20, 40,
	 * 80, ... after that), and sleeps for at least 250 ms */
	t_sleep_ms(1325);
	replay_hold("first", "wait.looked");
	replay_wait_held("first");	/* looks again after 20 ms */

	is(lh_release(lh, &k), 0, "the holder releases");
	is(lh_cancel(&off), 0, "the first one is cancelled");
	free_ns = t_now_ns();
	is(replay_finish("first"), -ECANCELED, "and leaves");
	is(replay_result("second"), 0, "the second one is granted");
	cmp((second.ended_ns - free_ns) / T_NS_PER_MS, <, T3_MS, "at once");
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
