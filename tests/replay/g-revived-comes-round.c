/* SPDX-License-Identifier: MIT */
/*
 * A reader's claim that is revived again and again, beside another reader,
 * comes to the use that a conversion of its first one would have led to.  Who
 * has a copy of that first lease, released long ago, does not hold that use's,
 * and does not release it (G10, G11).
 */
#include <errno.h>
#include "replay.h"

#define STEP ((UINT64_C(1) << 20) + 1)

int
main(void)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0), *other = replay_open(table, 0);
	struct lh_lease r, old, l, x;
	struct lh_key *k;
	int error;

	o.mode = LH_SHARED;
	is(lh_key_open(lh, "k", 0, &k), 0, "a key");
	is(lh_acquire(other, "k", &o, &r), 0, "a reader stays");
	is(lh_key_acquire(k, &o, &l), 0, "another comes");
	old = l;
	do {
		error = lh_release(lh, &l);
		if (error == 0)
			error = lh_key_acquire(k, &o, &l);
	} while (error == 0 && l.id[1] < old.id[1] + STEP);
	is(error, 0, "and goes, and comes, very often");
	ok(l.token > old.token, "and joins anew before it comes to that use");
	is(lh_verify(lh, &old), -ESTALE, "the first lease is over");
	is(lh_extend(lh, &old, 5000), -ESTALE, "and not extended");
	is(lh_ask_release(lh, "k", old.id, old.token), -ESTALE,
	    "nor asked for");
	is(lh_break(lh, "k", old.id, old.token), -ESTALE, "nor broken");
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
