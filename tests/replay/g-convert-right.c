/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G3 and G9: a lease of a cluster key is being converted while this
 * host's right to the key ends, and comes back.  The converter is stopped
 * before each of its loads, at the one and at the other.  Its answer must be
 * true: the lease is held in the mode that it returns, or it is lost, and the
 * key is free for others.
 *
 * Otherwise a process would go on with a lease that it had lost with the right,
 * while another host may hold the key.
 */
#include <errno.h>
#include "lent.h"

#define PLACES 80	/* loads; a conversion has fewer */
#define LASTS 40	/* loads between the two, at most */

static struct lh *lh;
static int lost, kept;

static int
convert(void *arg)
{
	struct lh_lease *l = arg;

	return lh_convert(lh, l, l->mode ^ LH_SHARED);
}

/* Lets the stopped converter go on to its nth load, or to its end.  True if it
 * is stopped there. */
static bool
goes_on_to(int n)
{
	replay_hold_nth("converter", "load", n);
	replay_release("converter");
	return replay_comes("converter");
}

static void
turn(uint32_t mode, int from, int lasts)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_lease l, next;
	bool stands;
	int e;

	lent_until_in_ms(20000);
	o.mode = mode;
	is(lh_acquire(lh, LENT_KEY, &o, &l), 0, "acquired: %s",
	    lh_error_detail());
	replay_stop("converter", "convert.begun", convert, &l);
	if (goes_on_to(from)) {
		lent_pass();
		stands = goes_on_to(lasts);
		lent_until_in_ms(20000);
		if (stands)
			replay_release("converter");
	}
	e = replay_result("converter");
	if (e == -ESTALE) {
		lost++;
		is(lh_verify(lh, &l), -ESTALE, "mode %u, %d, %d: lost", mode,
		    from, lasts);
	} else {
		kept++;
		/* without the right, a reader may share the key with other
		 * hosts */
		if (mode == LH_EXCLUSIVE || e != -EAGAIN)
			is(e, 0, "mode %u, %d, %d: converted", mode, from,
			    lasts);
		is(l.mode, e == 0 ? mode ^ LH_SHARED : mode,
		    "mode %u, %d, %d: the returned mode is true", mode, from,
		    lasts);
		is(lh_verify(lh, &l), 0, "mode %u, %d, %d: held", mode, from,
		    lasts);
		is(lh_release(lh, &l), 0, "released");
	}
	is(replay_try(lent_shim, LENT_KEY, &next), 0,
	    "mode %u, %d, %d: the key is free", mode, from, lasts);
	is(lh_release(lent_shim, &next), 0, "released");
}

static void
play_all(void)
{
	const char *table = replay_begin();

	lent_begin(table);
	lent_give(20000);
	lh = replay_open(table, 0);
	for (int from = 1; from <= PLACES; from++) {
		for (int lasts = 1; lasts <= LASTS; lasts += 1 + lasts / 4) {
			turn(LH_EXCLUSIVE, from, lasts);
			turn(LH_SHARED, from, lasts);
		}
	}
	cmp(lost, >, 0, "some leases were lost");
	cmp(kept, >, 0, "others were kept");
	t_close(lh);
	t_close(lent_shim);
}

int
main(void)
{
	t_part(play_all, 290, "convert, right");
	return done();
}
