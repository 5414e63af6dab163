/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G11, amendment C2: a release that loses the swap of the
 * lock word leaves the claim alone.
 *
 * Two threads release the same lease on "a", each with its own copy.  The first
 * is stopped before its swap; the second succeeds, and acquires "b" with the
 * same claim.  The first goes on and loses its swap.
 *
 * Otherwise the loser would free the claim all the same.  The lease on "b"
 * would lose its claim, and somebody else would acquire "b" beside its holder.
 */
#include "replay.h"

int
main(void)
{
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0), *other = replay_open(table, 0);
	struct lh_lease a = t_hold(lh, "a"), b, c, l;
	struct replay_call late = { .lh = lh, .lease = a };

	replay_stop("late", "cas", replay_release_lease, &late);
	is(lh_release(lh, &a), 0, "a is released");
	is(replay_try(lh, "b", &b), 0, "b is acquired");
	ok(b.id[1] >> 42 == a.id[1] >> 42, "with the same claim");
	is(replay_finish("late"), -ESTALE, "the first release comes too late");

	is(lh_verify(lh, &b), 0, "b is held");
	is(lh_extend(lh, &b, 60000), 0, "and can be extended");
	is(replay_try(other, "b", &l), -EAGAIN, "nobody else acquires b");
	is(replay_try(lh, "c", &c), 0, "c is acquired beside it");
	ok(c.id[1] >> 42 != b.id[1] >> 42, "with another claim");
	is(lh_release(lh, &b), 0, "b is released");
	is(lh_release(lh, &c), 0, "and c");
	is(replay_try(other, "b", &l), 0, "then another attachment acquires b");
	is(lh_release(other, &l), 0, "released");
	t_close(other);
	t_close(lh);
	return done();
}
