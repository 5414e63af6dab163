/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G9, G10 and G11: a reader's claim is revived again and again until
 * its use number is the one that a conversion of its first lease would have
 * led to.  A copy of that first lease, which is over, must not count as the
 * present lease: it is neither verified, extended, broken nor released.
 *
 * Otherwise a holder of an old copy would end a lease that somebody else holds.
 */
#include <errno.h>
#include "behaviour/readers.h"
#include "replay.h"

#define STEP ((UINT64_C(1) << 20) + 1)	/* from a use to its conversion's */

static struct lh *lh, *other;

static int
upgrade(void *l)
{
	return lh_convert(lh, l, LH_EXCLUSIVE);
}

/* The first lease is released at once; or after an upgrade that failed, which
 * had announced the use that is to come. */
static void
play(bool after_upgrade)
{
	struct lh_acquire_opts o = t_read_opts(REPLAY_LONG_MS, 0);
	struct lh_lease beside, old, l, x;
	struct lh_key *k;
	int error;

	is(lh_key_open(lh, "k", 0, &k), 0, "a key");
	beside = t_read_hold(other, "k");
	is(lh_key_acquire(k, &o, &l), 0, "two readers");
	old = l;
	if (after_upgrade) {
		is(lh_release(other, &beside), 0, "one of them leaves");
		replay_stop("upgrader", "convert.announced", upgrade, &old);
		beside = t_read_hold(other, "k");
		is(replay_finish("upgrader"), -EAGAIN,
		    "the upgrade fails, because another reader has come");
		/* this thread uses its own claims again */
		is(replay_try(lh, "z", &x), 0, "another key");
		is(lh_release(lh, &x), 0, "released");
	}
	do {
		error = lh_release(lh, &l);
		if (error == 0)
			error = lh_key_acquire(k, &o, &l);
	} while (error == 0 && l.id[1] < old.id[1] + STEP);
	is(error, 0, "the reader comes and goes very often");
	ok(l.token > old.token, "and joins anew before it reaches that use");
	is(lh_verify(lh, &old), -ESTALE, "the first lease is over");
	is(lh_extend(lh, &old, 5000), -ESTALE, "it is not extended");
	is(lh_ask_release(lh, "k", old.id, old.token), -ESTALE,
	    "nor asked for");
	is(lh_break(lh, "k", old.id, old.token), -ESTALE, "nor broken");
	is(lh_release(lh, &old), -ESTALE, "nor released");
	is(lh_verify(lh, &l), 0, "the present lease is held");
	is(lh_release(lh, &l), 0, "released");
	is(lh_release(other, &beside), 0, "released");
	is(replay_try(other, "k", &x), 0, "the key is free");
	is(lh_release(other, &x), 0, "released");
	lh_key_close(k);
}

int
main(void)
{
	const char *table = replay_begin();

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	play(false);
	play(true);
	t_close(other);
	t_close(lh);
	return done();
}
