/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G11, amendment C1: a decision about one use of a claim never
 * changes the claim's next use.
 *
 * A thread extends the lease on "a" and is stopped after it has checked the
 * claim.  The holder releases "a" and acquires "b" with the same claim.  The
 * extension goes on: it must fail, and the lease on "b" must keep its own
 * deadline.
 *
 * Otherwise a late extension of an old lease would move the deadline of another
 * lease, and a waiter for "b" would wait for an hour.
 */
#include "replay.h"

#define B_TTL_MS t_long(300)

static void
play_all(void)
{
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0), *other = replay_open(table, 0);
	struct lh_lease a, b, old;
	struct replay_call extend = REPLAY_CALL(lh, NULL, REPLAY_LONG_MS, 0);
	struct replay_call wait = REPLAY_CALL(other, "b", 1000, t_long(1500));

	is(t_acquire(lh, "a", 10000, 0, &a), 0, "a is held");
	extend.lease = old = a;
	replay_stop("extender", "extend.checked", replay_extend, &extend);

	is(lh_release(lh, &a), 0, "a is released");
	is(t_acquire(lh, "b", B_TTL_MS, 0, &b), 0, "b is acquired");
	ok(b.id[1] >> 42 == old.id[1] >> 42, "with the same claim");
	is(replay_finish("extender"), -ESTALE, "the extension of a fails");
	is(lh_verify(lh, &b), 0, "b is held as before");

	/* in a thread that does not hold b, which would deadlock with itself */
	replay_go("waiter", replay_acquire, &wait);
	is(replay_result("waiter"), 0,
	    "the lease on b ends at its own deadline");
	cmp(wait.ended_ns, >=, b.expires_ns, "not before the deadline");
	cmp((wait.ended_ns - b.expires_ns) / T_NS_PER_MS, <, T1_MS,
	    "and at once after it");
	is(lh_extend(lh, &old, 1000), -ESTALE,
	    "the lease on a stays lost: extend");
	is(lh_release(lh, &old), -ESTALE, "release");
	is(lh_verify(lh, &old), -ESTALE, "verify");
	is(lh_verify(other, &wait.lease), 0, "the waiter holds b");
	is(lh_release(other, &wait.lease), 0, "released");
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 100, "use number");
	return done();
}
