/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G3, amendment C3: a caller that frees a lock word on behalf
 * of an expired claim swaps the word that it loaded before it judged the claim,
 * not the word of afterwards.
 *
 * A newcomer finds the lease on "k" expired, marks it so, and is stopped before
 * it frees the word.  The holder notices, takes its claim back, and acquires
 * "k" again with the same claim.  The newcomer goes on: the word names that
 * claim again, and must not be freed.
 *
 * Otherwise the newcomer would free a key that is held, and acquire it beside
 * its holder.
 */
#include "replay.h"

#define TTL_MS t_long(120)
#define OTHERS 7		/* the rest of a thread's claims */

static void
play_all(void)
{
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0), *other = replay_open(table, 0);
	struct lh_lease old, k, more[OTHERS];
	struct replay_call newcomer = REPLAY_CALL(other, "k", REPLAY_LONG_MS,
	    0);
	char key[8] = "m0";

	is(t_acquire(lh, "k", TTL_MS, 0, &old), 0, "k is held");
	for (int i = 0; i < OTHERS; i++, key[1]++)
		more[i] = t_hold(lh, key);
	replay_sleep_past(&old);
	replay_stop("newcomer", "lock.expired", replay_acquire, &newcomer);

	is(replay_try(lh, "k", &k), 0, "the former holder acquires it again");
	ok(k.id[1] >> 42 == old.id[1] >> 42, "with the same claim");
	ok(k.notes & LH_NOTE_PREVIOUS_EXPIRED,
	    "and its lease notes the expiry");
	is(replay_finish("newcomer"), -EAGAIN, "the newcomer finds it busy");
	is(lh_verify(lh, &k), 0, "the new lease is held");
	is(lh_verify(lh, &old), -ESTALE, "the old lease is lost");
	is(lh_release(lh, &k), 0, "release");
	for (int i = 0; i < OTHERS; i++)
		lh_release(lh, &more[i]);
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 120, "freeing for others");
	return done();
}
