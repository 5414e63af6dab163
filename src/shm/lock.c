/* SPDX-License-Identifier: MIT */
/*
 * The lock word: answers "is this key held, now?", and makes it so.
 *
 * The word and the holder's claim state are all that exclusion rests on:
 *
 *	X(c, ver)	claim c holds the key; its state says until when
 *	FREE(cause, ver) nobody does; ver is that of the last grant
 *
 * Invariants.
 *  I1	ver grows with every grant: a word value never comes back, so a swap
 *	from an exact value proves that nothing happened in between.
 *  I2	While the word is X(c, ver), claim c is in the use that was announced
 *	for this grant: its state is HELD, or terminal (EXPIRED, BROKEN).  It is
 *	used again only after its owner has seen another word here.
 *  I3	Only the winner of a swap away from X(c, ver) may say how it ended; the
 *	cause travels in the FREE word to the next holder.
 *
 * Freeing for others.  Load the word; judge the claim; swap exactly that word.
 *	HELD, deadline past	swap the state to EXPIRED first: extend swaps
 *				the same word, so one of the two loses (G3)
 *	EXPIRED, BROKEN		somebody stopped between the two swaps
 *	session dead		the sticky flag is enough; the state is left to
 *				whoever buries the session
 *
 * Evidence is gathered after the word is loaded (C3): evidence from before
 * might be about an earlier use of the claim, and the word about a later one.
 * Conversely a claim that is expired although the word has moved on is past its
 * deadline anyway, in whatever use.
 *
 * A crash or stop between the two swaps leaves EXPIRED and X(c): everyone else
 * repeats the second.  After the second and before the kick: the first waiter
 * looks again within 20 ms.
 */
#include <errno.h>
#include "base/error.h"
#include "shm/lock.h"
#include "shm/queue.h"
#include "shm/session.h"

int
lhi_damaged(struct lhi_view *v, const char *what, uint64_t a, uint64_t b)
{
	(void)sh32_fetch_or(&v->hdr->flags, SHM_DAMAGED);
	return lhi_fail(-EUCLEAN, "the table %s is damaged: %s (%llu, %llu). "
	    "Stop its users, remove the object, and start them again", v->path,
	    what, (unsigned long long)a, (unsigned long long)b);
}

uint64_t
lhi_lock_token(struct shm_slot *s, uint64_t word)
{
	return token_of(sh64_load(&s->hint), word_ver(word));
}

/*
 * How did X(ci, ...) end?  1: *cause says; 0: it did not, the claim lives;
 * -EAGAIN: the claim and the word do not fit, look again.
 */
static int
judge(struct lhi_view *v, uint32_t ci, int64_t now_ns, bool probe,
    enum lhi_cause *cause)
{
	struct shm_claim *c = &v->claims[ci];
	uint64_t owner = lhi_claim_owner(v, ci);
	uint64_t st = sh64_load(&c->state);

	switch (state_st(st)) {
	case ST_HELD:
		if (now_ns >= lhi_deadline_ns(v, state_deadline(st))) {
			if (!lhi_same_time(v))
				return 0;	/* our clock is not theirs */
			if (!sh64_cas(&c->state, st, state_make(ST_EXPIRED,
			    state_seq(st), state_deadline(st))))
				return -EAGAIN;
			lhi_point("lock.expired");
			*cause = CAUSE_EXPIRED;
			return 1;
		}
		if (owner != 0 && lhi_session_dead(v, owner, probe)) {
			*cause = CAUSE_DIED;
			return 1;
		}
		return 0;
	case ST_EXPIRED:
		*cause = CAUSE_EXPIRED;
		return 1;
	case ST_BROKEN:
		*cause = CAUSE_BROKEN;
		return 1;
	default:
		return -EAGAIN;
	}
}

int
lhi_lock_settle(struct lhi_view *v, struct shm_slot *s, int64_t now_ns,
    bool probe, uint64_t *word)
{
	uint64_t misfit = 0;
	unsigned passes = 0;

	for (;;) {
		uint64_t w = sh64_load_sc(&s->word);
		enum lhi_cause cause;
		int ended;

		*word = w;
		if (word_mode(w) != WORD_X)
			return 0;
		if (lhi_claim(v, word_idx(w)) == NULL)
			return lhi_damaged(v, "a lock word names no claim",
			    lhi_slot_idx(v, s), w);
		lhi_point("lock.word_loaded");
		ended = judge(v, word_idx(w), now_ns, probe, &cause);
		if (ended == 0)
			return 0;
		if (ended < 0) {
			/* in motion; damage is the same misfit each time */
			if (w != misfit) {
				misfit = w;
				passes = 0;
			} else if (++passes > 1000) {
				return lhi_damaged(v, "a lock word names a "
				    "claim that holds nothing",
				    lhi_slot_idx(v, s), w);
			}
			continue;
		}
		if (lhi_mutant(3))
			w = sh64_load_sc(&s->word);
		if (sh64_cas(&s->word, w,
		    word_make(WORD_FREE, cause, word_ver(w)))) {
			lhi_point("lock.freed");
			lhi_queue_kick(v, s);
		}
	}
}

void
lhi_lock_free_for(struct lhi_view *v, uint32_t ci, enum lhi_cause cause)
{
	struct shm_claim *c = &v->claims[ci];
	struct shm_slot *s = lhi_slot(v, lhi_claim_slot(c));
	uint64_t w;

	if (s == NULL)
		return;
	w = sh64_load_sc(&s->word);
	if (word_mode(w) == WORD_X && word_idx(w) == ci &&
	    sh64_cas(&s->word, w, word_make(WORD_FREE, cause, word_ver(w)))) {
		lhi_point("lock.freed");
		lhi_queue_kick(v, s);
	}
}
