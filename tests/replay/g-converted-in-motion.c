/* SPDX-License-Identifier: MIT */
/*
 * Who has converted a lease is stopped before he looks whether it lives.
 * Another thread finds it, and tries to convert it again, in vain: meanwhile
 * the first one is told of the lease, and not that it is lost (G3, G9).
 */
#include <errno.h>
#include "replay.h"

static struct lh *lh, *other;

static int
down(void *l)
{
	return lh_convert(lh, l, LH_SHARED);
}

static int
up(void *l)
{
	return lh_convert(lh, l, LH_EXCLUSIVE);
}

int
main(void)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	const char *table = replay_begin();
	struct lh_lease l, found, r, x;

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	is(lh_acquire(lh, "k", &o, &l), 0, "a lease");
	replay_stop("A", "convert.swapped", down, &l);
	is(replay_find(lh, "k", &found), 0, "a reader's: found");
	replay_stop("B", "convert.announced", up, &found);
	is(replay_finish("A"), 0, "it was converted");
	o.mode = LH_SHARED;
	is(lh_acquire(other, "k", &o, &r), 0, "another reader");
	is(replay_finish("B"), -EAGAIN, "not to be converted again");
	is(lh_verify(lh, &found), 0, "held");
	is(lh_verify(lh, &l), 0, "by both copies");
	is(lh_release(lh, &l), 0, "released");
	is(lh_release(other, &r), 0, "release");
	is(replay_try(other, "k", &x), 0, "the key is free");
	(void)lh_release(other, &x);
	t_close(other);
	t_close(lh);
	return done();
}
