/* SPDX-License-Identifier: MIT */
/*
 * What a thread knows of the cluster key that its first claim had last goes
 * when that claim is used for anything else: here, to make another key.  (One
 * tick of the clock is enough to have forgotten it anyway; hence often.)
 */
#include "lent.h"

#define TURNS 50

static void
play_all(void)
{
	const char *table = replay_begin();
	struct lh_lease l, again;
	struct lh_key *k, *o;
	struct lh *lh;
	char name[16];
	int held = 0, released = 0, free = 0;

	lent_begin(table);
	lent_give(20000);
	lh = replay_open(table, 0);
	is(lh_key_open(lh, LENT_KEY, 0, &k), 0, "opened");
	for (int i = 0; i < TURNS; i++) {
		if (lh_key_acquire(k, NULL, &l) != 0 ||
		    lh_release(lh, &l) != 0)
			break;
		snprintf(name, sizeof(name), "o%d", i);
		is(lh_key_open(lh, name, 0, &o), 0, "another key is made");
		is(lh_key_close(o), 0, "and closed");
		if (lh_key_acquire(k, NULL, &l) != 0)
			break;
		held += lh_verify(lh, &l) == 0;
		released += lh_release(lh, &l) == 0;
		if (replay_try(lent_shim, LENT_KEY, &again) == 0)
			free += lh_release(lent_shim, &again) == 0;
	}
	is(held, TURNS, "held when it was acquired");
	is(released, TURNS, "released when it was released");
	is(free, TURNS, "and free for others: %s", lh_error_detail());
	is(t_findings(lh), 0, "a sound table");
	is(lh_key_close(k), 0, "closed");
	t_close(lh);
	t_close(lent_shim);
}

int
main(void)
{
	t_part(play_all, 290, "lent claim");
	return done();
}
