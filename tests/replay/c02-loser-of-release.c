/* SPDX-License-Identifier: MIT */
/*
 * C2: who loses the swap of the word leaves the claim alone.
 *
 * Two threads release the same lease on "a", each with its own copy.  The first
 * is stopped just before its swap; the second one succeeds, and takes "b" with
 * the same claim.  The first goes on and loses: if it freed the claim all the
 * same, the lease on "b" would have lost its claim, which is then announced for
 * something else.
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
	is(replay_finish("late"), -ESTALE, "the second release comes too late");

	is(lh_verify(lh, &b), 0, "b is held");
	is(lh_extend(lh, &b, 60000), 0, "and can be extended");
	is(replay_try(other, "b", &l), -EAGAIN, "nobody else gets it");
	is(replay_try(lh, "c", &c), 0, "c is acquired beside it");
	ok(c.id[1] >> 42 != b.id[1] >> 42, "with another claim");
	is(lh_release(lh, &b), 0, "b is released");
	is(lh_release(lh, &c), 0, "and c");
	is(replay_try(other, "b", &l), 0, "then somebody else gets b");
	is(lh_release(other, &l), 0, "and releases it");
	t_close(other);
	t_close(lh);
	return done();
}
