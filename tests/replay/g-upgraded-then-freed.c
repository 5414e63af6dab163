/* SPDX-License-Identifier: MIT */
/*
 * A reader's lease is upgraded: whoever has a copy of before has lost it, for
 * good (G9).  While the upgraded one is being released - its word is free, its
 * claim is not yet (R2) - others read the key: that makes the old copy no lease
 * again, neither to be verified nor to be extended.
 */
#include <errno.h>
#include "replay.h"

int
main(void)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0), *other = replay_open(table, 0);
	struct replay_call c = REPLAY_CALL(lh, "k", 0, 0);
	struct lh_lease old, w, r;

	o.mode = LH_SHARED;
	is(lh_acquire(lh, "k", &o, &c.lease), 0, "a reader");
	old = c.lease;
	is(lh_convert(lh, &c.lease, LH_EXCLUSIVE), 0, "upgraded");
	is(lh_verify(lh, &old), -ESTALE, "the old copy is lost");
	replay_stop("A", "release.word_freed", replay_release_lease, &c);
	is(replay_try(other, "k", &w), 0, "a writer comes");
	is(lh_release(other, &w), 0, "and goes");
	is(lh_acquire(other, "k", &o, &r), 0, "another reads");
	is(lh_verify(lh, &old), -ESTALE, "the old copy stays lost");
	is(lh_extend(lh, &old, REPLAY_LONG_MS), -ESTALE,
	    "and is not extended");
	is(replay_finish("A"), 0, "released");
	is(lh_verify(lh, &old), -ESTALE, "lost");
	is(lh_release(other, &r), 0, "release");
	t_close(other);
	t_close(lh);
	return done();
}
