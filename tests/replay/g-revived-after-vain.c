/* SPDX-License-Identifier: MIT */
/*
 * A reader's lease that somebody has tried to upgrade in vain is released, and
 * its claim revived again and again, until it comes to the use that the upgrade
 * would have led to: who has a copy of that first lease does not hold that
 * use's, and does not release it (G9, G10, G11).
 */
#include <errno.h>
#include "replay.h"

#define STEP ((UINT64_C(1) << 20) + 1)

static struct lh *lh, *other;

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
	struct lh_lease r, old, l, x;
	struct lh_key *k;
	int error;

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	o.mode = LH_SHARED;
	is(lh_key_open(lh, "k", 0, &k), 0, "a key");
	is(lh_acquire(other, "k", &o, &r), 0, "a reader");
	is(lh_key_acquire(k, &o, &l), 0, "another");
	is(lh_release(other, &r), 0, "... is alone");
	old = l;
	replay_stop("A", "convert.announced", up, &old);
	is(lh_acquire(other, "k", &o, &r), 0, "another one comes");
	is(replay_finish("A"), -EAGAIN, "the upgrade was in vain");
	is(replay_try(lh, "z", &x), 0, "(this thread's last one is its own");
	is(lh_release(lh, &x), 0, "... again)");
	do {
		error = lh_release(lh, &l);
		if (error == 0)
			error = lh_key_acquire(k, &o, &l);
	} while (error == 0 && l.id[1] < old.id[1] + STEP);
	is(error, 0, "it goes, and comes, very often");
	ok(l.token > old.token, "and joins anew before it comes to that use");
	is(lh_verify(lh, &old), -ESTALE, "the first lease is over");
	is(lh_extend(lh, &old, 5000), -ESTALE, "and not extended");
	is(lh_release(lh, &old), -ESTALE, "nor released");
	is(lh_verify(lh, &l), 0, "the last one is held");
	is(lh_release(lh, &l), 0, "released");
	is(lh_release(other, &r), 0, "release");
	is(replay_try(other, "k", &x), 0, "the key is free");
	(void)lh_release(other, &x);
	lh_key_close(k);
	t_close(other);
	t_close(lh);
	return done();
}
