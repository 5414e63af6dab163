/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1: a thread remembers the cluster key that it acquired last with
 * its first claim.  It must forget that when the claim is used for anything
 * else, here to make another key.  By name only that key is acquired so, and
 * not after its right was withdrawn.  (One tick of the clock makes it forget
 * anyway: hence many turns.)
 *
 * Otherwise a release or a verify would take another key's state for that of
 * the cluster key.
 */
#include <errno.h>
#include "lent.h"

#define TURNS 50

/* Each of these acquires the key a second time, most within a tick. */
static int
by_name(struct lh *lh, int turn, struct lh_lease *l)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;

	return lh_acquire(lh, LENT_KEY, turn % 2 == 0 ? NULL : &o, l);
}

static void
names(struct lh *lh)
{
	int held = 0, others = 0, free = 0, refused = 0;
	struct lh_lease l, again;

	for (int i = 0; i < TURNS; i++) {
		if (by_name(lh, i, &l) != 0 || lh_release(lh, &l) != 0 ||
		    by_name(lh, i, &l) != 0)
			break;
		held += lh_verify(lh, &l) == 0 &&
		    replay_try(lent_shim, LENT_KEY, &again) == -EAGAIN;
		(void)lh_release(lh, &l);
		if (by_name(lh, i, &l) != 0 || lh_release(lh, &l) != 0 ||
		    lh_acquire(lh, "another", NULL, &l) != 0)
			break;
		others += replay_try(lent_shim, "another", &again) == -EAGAIN;
		if (replay_try(lent_shim, LENT_KEY, &again) == 0)
			free += lh_release(lent_shim, &again) == 0;
		(void)lh_release(lh, &l);
	}
	is(held, TURNS, "by name: held after each acquire");
	is(others, TURNS, "another name is another key");
	is(free, TURNS, "which leaves this one free");
	for (int i = 0; i < TURNS; i++) {
		struct lh_acquire_opts o = t_opts(30000, 0);

		lent_until_in_ms(20000);
		if (by_name(lh, i, &l) != 0 || lh_release(lh, &l) != 0)
			break;
		lent_pass();
		refused += lh_acquire(lh, LENT_KEY, i % 2 == 0 ? NULL : &o,
		    &l) == -EHOSTUNREACH;
	}
	is(refused, TURNS, "without the right the name is refused");
	lent_until_in_ms(20000);
}

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
	is(held, TURNS, "the key is held after each acquire");
	is(released, TURNS, "it is released each time");
	is(free, TURNS, "and free for others each time: %s", lh_error_detail());
	names(lh);
	is(t_findings(lh), 0, "the table is sound");
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
