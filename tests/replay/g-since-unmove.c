/* SPDX-License-Identifier: MIT */
/*
 * As g-grant-since, but it reads, and is to be upgraded, in vain: the lease is
 * at rest again, and may be converted.
 */
#include <errno.h>
#include "replay.h"

static struct lh *lh, *other;
static struct lh_lease got;

static int
up(void *l)
{
	return lh_convert(lh, l, LH_EXCLUSIVE);
}

static int
take(void *arg)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 4000);
	(void)arg;
	o.mode = LH_SHARED;
	return lh_acquire(lh, "k", &o, &got);
}

int
main(void)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	const char *table = replay_begin();
	struct lh_lease found, x, r;

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	is(replay_try(other, "k", &x), 0, "a holder");
	replay_hold("A", "acquire.granted");
	replay_go("A", take, NULL);
	t_sleep_ms(30);
	is(lh_release(other, &x), 0, "released");
	replay_wait_held("A");
	is(replay_find(lh, "k", &found), 0, "found");
	replay_stop("B", "convert.announced", up, &found);
	is(replay_finish("A"), 0, "it is told so");
	o.mode = LH_SHARED;
	is(lh_acquire(other, "k", &o, &r), 0, "another reader");
	is(replay_finish("B"), -EAGAIN, "in vain");
	is(lh_release(other, &r), 0, "alone");
	is(lh_verify(lh, &got), 0, "held");
	is(lh_convert(lh, &got, LH_EXCLUSIVE), 0, "to be converted:"
	    " %s", lh_error_detail());
	is(lh_release(lh, &got), 0, "released");
	t_close(other);
	t_close(lh);
	return done();
}
