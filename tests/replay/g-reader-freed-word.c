/* SPDX-License-Identifier: MIT */
/*
 * The only reader of a key is stopped in its release: the word is free, its
 * claim still says that it reads.  A writer comes and goes, another one reads.
 * A copy of the first lease is not held any more, and cannot be extended: or it
 * would have been so while there was a writer (G1).
 */
#include <errno.h>
#include "replay.h"

static struct lh_lease l;

static int
read_and_go(void *lh)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_lease mine;
	int error;

	o.mode = LH_SHARED;
	error = lh_acquire(lh, "k", &o, &mine);
	l = mine;
	return error != 0 ? error : lh_release(lh, &mine);
}

static int
hear(const struct lh_key_info *info, void *arg)
{
	(void)info;
	(void)arg;
	return 0;
}

int
main(void)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0), *other = replay_open(table, 0);
	struct lh_session *to = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	struct lh_lease w, r;

	replay_stop("A", "shared.word_freed", read_and_go, lh);
	is(lh_verify(lh, &l), -ESTALE, "nobody has the key");
	is(replay_try(other, "k", &w), 0, "a writer comes");
	is(lh_verify(lh, &l), -ESTALE, "it has the key");
	is(lh_release(other, &w), 0, "and goes");
	o.mode = LH_SHARED;
	is(lh_acquire(other, "k", &o, &r), 0, "another reads");
	is(lh_verify(lh, &l), -ESTALE, "the first one is not held again");
	is(lh_status(lh, "k", l.id, hear, NULL), -ESTALE, "nor shown to be");
	is(lh_extend(lh, &l, REPLAY_LONG_MS), -ESTALE, "nor to be extended");
	is(lh_handoff(lh, &l, to), -ESTALE, "nor to be handed over");
	is(replay_finish("A"), 0, "released");
	is(replay_leases_in(to), 0, "and held nowhere");
	replay_session_end(to);
	is(lh_release(other, &r), 0, "release");
	t_close(other);
	t_close(lh);
	return done();
}
