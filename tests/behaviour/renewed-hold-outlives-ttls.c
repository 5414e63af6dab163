/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G3, timing T1: a lease that is extended in time outlives
 * its ttl many times over, while others try and wait without success.  When the
 * extensions stop, the key is free at the last deadline, not before and not
 * much later.
 *
 * Otherwise a long job would lose its key, or keep it after its end.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define TTL_MS	t_ms(100)
#define TTLS	6

static bool
outlive(void *arg)
{
	struct lh *lh = arg;
	struct t_actor *w = t_actor(lh_table_name(lh));
	int64_t end_ns, late_ms = INT64_MAX;
	struct lh_lease mine, l;
	int extended = 0, failed = 0, intruders = 0;

	is(t_acquire(lh, "k", TTL_MS, T_HANG_MS, &mine), 0, "a short lease");
	t_begin_acquire(w, "k", 3600000, 3600000);
	end_ns = t_acquired_ns(lh, &mine) + TTLS * TTL_MS * T_NS_PER_MS;
	while (t_now_ns() < end_ns) {
		int64_t before = mine.expires_ns;
		int r;

		t_sleep_ms(TTL_MS / 4);
		r = lh_extend(lh, &mine, TTL_MS);
		if (r != 0) {
			/* this process was not run for a whole ttl */
			failed++;
			break;
		}
		extended += mine.expires_ns > before;
		intruders += t_acquire(lh, "k", 1000, 0, &l) != -EAGAIN;
		intruders += t_answered(w);
	}
	if (failed) {
		t_actor_kill(w);
		t_actor_free(w);
		return false;
	}
	cmp(extended, >=, TTLS, "extended again and again");
	is(intruders, 0, "nobody else got in");
	is(t_result(w), 0, "then no more: the waiter gets it");
	cmp(w->ended_ns, >=, mine.expires_ns, "not before the last deadline");
	late_ms = (w->ended_ns - mine.expires_ns) / T_NS_PER_MS;
	diag("%lld ms after the deadline", (long long)late_ms);
	is(w->lease.notes, LH_NOTE_PREVIOUS_EXPIRED, "with a note");
	is(lh_extend(lh, &mine, TTL_MS), -ESTALE, "a late extend is refused");
	t_actor_end(w);
	return late_ms <= T1_MS;
}

int
main(void)
{
	struct lh *lh = t_open(t_table());

	ok(t_tries(3, outlive, lh), "within %lld ms", (long long)T1_MS);
	t_close(lh);
	return done();
}
