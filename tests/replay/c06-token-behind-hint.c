/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2, amendment C6: a caller that has read an older version of the
 * lock word than its hint does not compute a token 2^40 too high.
 *
 * A newcomer sees "k" free and is stopped before it computes its token.  Others
 * acquire and release "k" 2^30 times (the test writes that version into the
 * word; each version is a legal one within 2^39 of the hint), and the next of
 * them moves the hint.  The newcomer goes on with its old version: it must
 * raise the ceiling only as far as it needs, and its next attempt must give the
 * next token.
 *
 * Otherwise one late caller would use up a whole range of tokens, and the table
 * would run out of them.
 */
#include "replay.h"
#include "op/token_ceiling.h"
#include "proc/attachment.h"

#define LEAP (TOKEN_LAG_MAX + 1000)

static struct lh_stats
stats(struct lh *lh)
{
	struct lh_stats st = { .size = sizeof(st) };

	is(lh_stats(lh, &st), 0, "stats");
	return st;
}

/* As if the key had been taken and released that often. */
static void
leap(struct lh *lh, uint32_t slot_idx)
{
	shm_u64 *word = &lh->v.slots[slot_idx].word;
	uint64_t w = sh64_load(word);

	is(word_mode(w), WORD_FREE, "nobody holds it");
	ok(sh64_cas(word, w, word_make(WORD_FREE, CAUSE_RELEASED,
	    word_ver(w) + LEAP)), "2^30 grants go by");
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0), *other = replay_open(table, 0);
	struct replay_call newcomer = REPLAY_CALL(other, "k", 60000, 0);
	struct lh_lease first = t_hold(lh, "k"), l;
	struct lh_stats before = stats(lh), after;

	cmp(first.token, >, before.token_base, "the first token fits");
	cmp(first.token, <, before.token_ceiling, "the range");
	is(lh_release(lh, &first), 0, "release");
	/* by the slow path: the fast one does not even begin on such a lag */
	leap(lh, (uint32_t)first.key);
	replay_stop("newcomer", "wait.turn", replay_acquire, &newcomer);
	leap(lh, (uint32_t)first.key);
	is(replay_try(lh, "k", &l), 0, "k is acquired meanwhile");
	is_u64(l.token, first.token + 2 * LEAP + 1, "with the next token");
	is(lh_release(lh, &l), 0, "and released");

	is(replay_finish("newcomer"), 0, "the newcomer gets it");
	is_u64(newcomer.lease.token, l.token + 1, "with the next token");
	after = stats(lh);
	cmp(after.token_ceiling, >, newcomer.lease.token, "below the ceiling");
	cmp(after.token_ceiling - newcomer.lease.token, <=, TOKEN_STEP,
	    "which moved no further than needed");
	is(lh_verify_token(lh, "k", newcomer.lease.token), 0, "it is verified");
	is(lh_verify_token(lh, "k", first.token), -ESTALE, "an old one is not");
	is(lh_verify(lh, &first), -ESTALE, "nor is its lease");
	is(lh_release(other, &newcomer.lease), 0, "release");
	t_close(other);
	t_close(lh);
	return done();
}
