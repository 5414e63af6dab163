/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G6, amendment C5: a wake-up does not clear the suspicion that a
 * waiter is stopped.
 *
 * The first waiter does not run.  Each hand-over must pass over it; only the
 * first one may take the 30 ms that it takes to find that out.  When the first
 * waiter runs again, it is in its old place.
 *
 * Otherwise each hand-over would take 30 ms again, or the key would never be
 * handed over.
 */
#include "replay.h"

#define HANDOVERS 11

static int
by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void
play_all(void)
{
	const char *table = replay_begin();
	struct lh *lh[2] = { replay_open(table, 0), replay_open(table, 0) };
	struct lh *sick = replay_open(table, 0);
	struct replay_call w[2], stopped = REPLAY_CALL(sick, "k", 10000,
	    REPLAY_LONG_MS);
	struct lh_lease held = t_hold(lh[1], "k");
	int64_t took_ns[HANDOVERS];

	replay_stop("stopped", "wait.parked", replay_acquire, &stopped);
	for (int i = 0; i < HANDOVERS; i++) {
		int me = i % 2;

		w[me] = (struct replay_call)REPLAY_CALL(lh[me], "k", 10000,
		    REPLAY_LONG_MS);
		replay_go("next", replay_acquire, &w[me]);
		if (!t_await_waiters(lh[!me], "k", 2))
			fail("the next waiter queues behind the stopped one");
		t_sleep_ms(3);		/* asleep by now */
		took_ns[i] = -t_now_ns();
		is(lh_release(lh[!me], i == 0 ? &held : &w[!me].lease), 0,
		    "release %d", i);
		is(replay_result("next"), 0,
		    "the next waiter acquires the key");
		took_ns[i] += w[me].ended_ns;
	}
	diag("the first hand-over took %lld us",
	    (long long)took_ns[0] / 1000);
	qsort(took_ns + 1, HANDOVERS - 1, sizeof(took_ns[0]), by_size);
	cmp(took_ns[1 + HANDOVERS / 2] / 1000, <, 15000,
	    "later ones do not pay for the suspicion again (median, us)");
	replay_release("stopped");
	is(lh_release(lh[0], &w[0].lease), 0, "release");
	is(replay_result("stopped"), 0,
	    "the first waiter acquires the key in its turn");
	is(lh_release(sick, &stopped.lease), 0, "release");
	t_close(sick);
	t_close(lh[1]);
	t_close(lh[0]);
}

int
main(void)
{
	t_part(play_all, 15, "suspicion stays");
	return done();
}
