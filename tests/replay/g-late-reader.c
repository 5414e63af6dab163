/* SPDX-License-Identifier: MIT */
/*
 * A reader that comes too late (the clock has gone on behind its grant) looks
 * at its state; another thread, that has found the lease, has it in motion just
 * then, and gives that up.  The late one's lease is over all the same: nobody
 * was told of it.
 */
#include <errno.h>
#include "replay.h"

static struct lh *lh, *other;
static struct lh_lease got;

static int
take(void *arg)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	int error;

	(void)arg;
	o.mode = LH_SHARED;
	error = lh_acquire(lh, "k", &o, &got);
	replay_hold("A", "shared.granted");
	if (error == 0)
		error = lh_release(lh, &got);
	return error != 0 ? error : lh_acquire(lh, "k", &o, &got);
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
	struct lh_lease found, r, x;

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	is(replay_try(other, "k", &x), 0, "the key is there");
	is(lh_release(other, &x), 0, "and free");
	replay_go("A", take, NULL);
	replay_wait_held("A");
	is(replay_find(lh, "k", &found), 0, "found");
	t_sleep_ms(30);
	replay_stop_next("A", "cas");
	replay_stop("B", "convert.announced", up, &found);
	replay_stop_next("A", "shared.caught_up");
	o.mode = LH_SHARED;
	is(lh_acquire(other, "k", &o, &r), 0, "another reader");
	is(replay_finish("A"), 0, "had anew");
	replay_release("B");
	ok(replay_result("B") != 0, "not converted");
	is(lh_release(lh, &got), 0, "released");
	is(lh_release(other, &r), 0, "released");
	is(lh_verify(lh, &found), -ESTALE, "the late one's is over");
	is(replay_try(other, "k", &x), 0, "the key is free");
	(void)lh_release(other, &x);
	t_close(other);
	t_close(lh);
	return done();
}
