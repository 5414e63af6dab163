/* SPDX-License-Identifier: MIT */
/*
 * C15, last sentence: a slot is linked only after its word is FREE.  (The rest
 * of C15 is about eviction, which this version does not have.)
 *
 * A maker of a key is stopped at each of its steps in turn.  Whoever wants the
 * same key meanwhile must get it: a key that is found can be locked, and one
 * that cannot be found yet is made in another slot.
 */
#include "replay.h"

static const char *const steps[] = {
	"slot.announced", "slot.filled", "slot.linking", "slot.made",
};

#define N_STEPS (sizeof(steps) / sizeof(steps[0]))

int
main(void)
{
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0), *other = replay_open(table, 0);
	char key[16];

	for (size_t i = 0; i < N_STEPS; i++) {
		struct replay_call maker = REPLAY_CALL(other, key, 60000, 0);
		struct lh_lease l;
		int r;

		snprintf(key, sizeof(key), "k%zu", i);
		replay_hold("maker", steps[i]);
		replay_go("maker", replay_acquire, &maker);
		replay_wait_held("maker");
		r = replay_try(lh, key, &l);
		is(r, 0, "the key can be locked: maker stopped at %s",
		    steps[i]);
		replay_release("maker");
		is(replay_result("maker"), r == 0 ? -EAGAIN : 0,
		    "the maker finds it busy");
		if (r == 0)
			is(lh_release(lh, &l), 0, "release");
		else
			is(lh_release(other, &maker.lease), 0, "release");
		is(replay_acquire(&maker), 0, "and then gets it");
		is(lh_release(other, &maker.lease), 0, "release");
	}
	t_close(other);
	t_close(lh);
	return done();
}
