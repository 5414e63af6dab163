/* SPDX-License-Identifier: MIT */
/*
 * G1, G2: who makes a key, and is stopped when it has been linked, gets a lease
 * of that key and of no other, also when the key is evicted meanwhile, and
 * another one is made in its place.
 */
#include "replay.h"

#define KEYS 1		/* whoever comes next comes to the same place */

static struct lh *lh, *other;

static int
take(void *arg)
{
	return replay_try(lh, "a", arg);
}

static void
play_all(void)
{
	struct lh_open_opts o = t_open_opts();
	const char *table = replay_begin();
	struct lh_lease first, a, b;

	o.max_keys = KEYS;
	if (lh_open(&lh, table, &o) != 0 || lh_open(&other, table, &o) != 0)
		bail_out("no table: %s", lh_error_detail());
	/* a's tokens have got further than b's will be */
	for (int i = 0; i < 3; i++) {
		is(replay_try(other, "a", &first), 0, "a, before");
		is(lh_release(other, &first), 0, "released");
	}
	is(lh_evict(other, "a", 0), 1, "evicted");
	replay_stop("maker", "slot.linked", take, &a);
	is(lh_evict(other, "a", 0), 1, "what was just made is evicted again");
	is(replay_try(other, "b", &b), 0, "and b made in its place");
	is(lh_release(other, &b), 0, "b is free");
	is(replay_finish("maker"), 0, "the maker has a");
	is(t_holders(other, "a"), 1, "a is held");
	cmp(a.token, >, first.token, "with a token above all of a's before");
	is(lh_verify_token(lh, "a", a.token), 0, "a's token it is");
	is(lh_release(lh, &a), 0, "released");
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 290, "made, evicted");
	return done();
}
