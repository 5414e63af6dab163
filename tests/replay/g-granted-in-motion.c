/* SPDX-License-Identifier: MIT */
/*
 * Who has just been granted a key is stopped before he has his lease; another
 * finds it by status, and tries to upgrade it, in vain.  The lease that is told
 * is the one that was granted.
 */
#include <errno.h>
#include "replay.h"

static struct lh *lh, *other;
static struct lh_lease got, found;

static int
take(void *arg)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);

	(void)arg;
	o.mode = LH_SHARED;
	return lh_acquire(lh, "k", &o, &got);
}

static int
up(void *arg)
{
	(void)arg;
	return lh_convert(lh, &found, LH_EXCLUSIVE);
}

int
main(void)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	const char *table = replay_begin();
	struct lh_lease r, x;

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	is(replay_try(other, "k", &x), 0, "the key is there");
	is(lh_release(other, &x), 0, "and free");
	replay_stop("A", "acquire.granted", take, NULL);
	is(replay_find(lh, "k", &found), 0, "it is found");
	replay_stop("B", "convert.announced", up, NULL);
	is(replay_finish("A"), 0, "acquired");
	o.mode = LH_SHARED;
	is(lh_acquire(other, "k", &o, &r), 0, "another reader");
	is(replay_finish("B"), -EAGAIN, "the upgrade was in vain");
	is(lh_verify(lh, &got), 0, "the lease is held");
	is(lh_release(lh, &got), 0, "released");
	is(lh_release(other, &r), 0, "release");
	is(replay_try(other, "k", &x), 0, "the key is free");
	(void)lh_release(other, &x);
	t_close(other);
	t_close(lh);
	return done();
}
