/* SPDX-License-Identifier: MIT */
/*
 * Who has handed a lease over is stopped before he looks whether it lives.
 * Another one finds it, and tries to convert it, in vain: meanwhile the first
 * one is told of the lease, and not that it is lost (G3, G9).
 */
#include <errno.h>
#include "replay.h"

static struct lh *lh, *other;
static struct lh_session *to;

static int
hand(void *l)
{
	return lh_handoff(lh, l, to);
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
	to = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	o.mode = LH_SHARED;
	is(lh_acquire(lh, "k", &o, &l), 0, "a lease");
	replay_stop("A", "handoff.let_go", hand, &l);
	is(replay_find(lh, "k", &found), 0, "handed over: found");
	replay_stop("B", "convert.announced", up, &found);
	is(replay_finish("A"), 0, "it was handed over");
	is(lh_acquire(other, "k", &o, &r), 0, "another reader");
	is(replay_finish("B"), -EAGAIN, "not to be converted");
	is(lh_verify(lh, &found), 0, "held");
	is(lh_verify(lh, &l), 0, "by both copies");
	is(lh_release(lh, &l), 0, "released");
	is(lh_release(other, &r), 0, "release");
	is(replay_try(other, "k", &x), 0, "the key is free");
	(void)lh_release(other, &x);
	replay_session_end(to);
	t_close(other);
	t_close(lh);
	return done();
}
