/* SPDX-License-Identifier: MIT */
/* The straight path of an acquire, up to its swap: acquire.c and key_lock.c. */
#ifndef LHI_ACQUIRE_STRAIGHT_H
#define LHI_ACQUIRE_STRAIGHT_H

#include <string.h>
#include "op/acquire.h"
#include "proc/claim_cache.h"
#include "shm/wait_queue.h"

/* Added to a word: FREE(0, ver) -> X(0, ver + 1).  ver is in the top bits and
 * wraps by itself. */
#define FREE_TO_X (word_make(0, 0, 1) - word_make(WORD_FREE, CAUSE_RELEASED, 0))

static inline bool
lhi_is_same_tick(const struct lhi_claim_cache *m, const struct timespec *ts)
{
	return likely(ts->tv_nsec == m->tick_nsec) &&
	    likely(ts->tv_sec == m->tick_sec);
}

/* True if claim 0, which was just granted the key of that handle, may have its
 * mark: see NO_MARK (proc/attachment.h). */
static inline bool
lhi_claim_0_may_stay(const struct lh_key *k, uint64_t slot_ref)
{
	const struct lhi_claim_cache *m = lhi_claim_cache_current;
	const struct lhi_cached_claim *r = &m->rec[0];

	return m->usual == k->lh && r->slot_ref == slot_ref &&
	    lhi_cached_claim_now(r) == CACHED_HELD;
}

/*
 * The usual case, on a straight path: claim 0 had that key last, and nobody
 * waits.  (The claim is a constant, so that addresses wait for nothing.)  The
 * word must be the one that this claim's last release wrote.  Then it is the
 * same life of the same slot, because an eviction or another grant would have
 * changed ver.  So the next token is the next number.  (If the last grant was
 * in scope local, so is this one: LH_ALL_LOCAL.)
 *
 * The word is not loaded before its swap: the swap tells.  A word that is
 * remembered is one that was loaded even earlier (shm/table_revoke.c, I1).
 *
 * `kind` is FREE_CLUSTER if free words of that key have it, else 0.
 *
 * Every other case returns at once, because registers that are kept for later
 * would be pushed in every call.
 */
static inline __attribute__((always_inline)) enum lhi_how
lhi_swap_usual(struct lhi_claim_cache *m, uint64_t kind)
{
	static const lhi_pair next = { 1, 1 };
	struct lhi_cached_claim *r = &m->rec[0];
	struct shm_slot *s = r->slot;
	uint64_t w = r->word, held;
	lhi_pair use;

	if (unlikely(w & WORD_IS_X) || unlikely(w >= r->limit))
		return UNTOUCHED;
	sh64_store(&m->claims->state, (r->id << SEQ_SHIFT) +
	    m->announce);					/* claim #1 */
	lhi_point("acquire.announced");
	held = w + FREE_TO_X + r->held_low - kind;
	if (unlikely(lhi_queue_stops(sh64_load(&s->waitq))))
		return OUTDONE;
	lhi_point("acquire.looked");
	if (unlikely(!sh64_cas(&s->word, w, held)))
		return OUTDONE;
	lhi_point("acquire.granted");
	r->word = held;
	memcpy(&use, &r->id, sizeof(use));
	lhi_pair_store(&r->id, use + next);	/* id and token */
	return GRANTED;
}

/*
 * The same where tokens rise over all keys (acquire_over_all.c).  The caller
 * has seen that claim 0 had the key last, and that m->over_all is not 0.
 */
enum lhi_how lhi_swap_over_all(struct lhi_claim_cache *m);

#endif
