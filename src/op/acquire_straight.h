/* SPDX-License-Identifier: MIT */
/* The straight path of an exclusive acquire.  Its parts are in a header, since
 * each caller is to have them in one function: acquire_key.c, acquire_name.c,
 * acquire_lent.c and key_lock.c. */
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
 * `*announce` is added to the state of the claim's last use.  (It is read when
 * that is written, which takes an instruction less.)
 *
 * Every other case returns at once, because registers that are kept for later
 * would be pushed in every call.
 */
static inline __attribute__((always_inline)) enum lhi_how
lhi_swap_announced(struct lhi_claim_cache *m, struct lhi_cached_claim *r,
    uint64_t kind, const uint64_t *announce)
{
	static const lhi_pair next = { 1, 1 };
	struct shm_slot *s = r->slot;
	uint64_t w = r->word, held;
	lhi_pair use;

	if (unlikely(w & WORD_IS_X) || unlikely(w >= r->limit))
		return UNTOUCHED;
	sh64_store(&m->claims[r - m->rec].state, (r->id << SEQ_SHIFT) +
	    *announce);						/* claim #1 */
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

static inline __attribute__((always_inline)) enum lhi_how
lhi_swap_usual_of(struct lhi_claim_cache *m, struct lhi_cached_claim *r,
    uint64_t kind)
{
	return lhi_swap_announced(m, r, kind, &m->announce);
}

/* The same of claim 0. */
static inline __attribute__((always_inline)) enum lhi_how
lhi_swap_usual(struct lhi_claim_cache *m, uint64_t kind)
{
	return lhi_swap_usual_of(m, &m->rec[0], kind);
}

/* Fills in the lease that claim 0 was just granted, and looks at the clock. */
static inline __attribute__((always_inline)) enum lhi_how
lhi_fill_straight(struct lhi_claim_cache *m, struct lh_lease *l)
{
	struct timespec ts;
	lhi_pair use;

	memcpy(&use, &m->rec[0].id, sizeof(use));
	lhi_pair_store(l, m->head_0);
	lhi_pair_store(&l->id[1], use);
	l->expires_ns = m->expires_ns;
	lhi_coarse(&ts);
	return lhi_is_same_tick(m, &ts) ? GRANTED : LATE;
}

static inline __attribute__((always_inline)) enum lhi_how
lhi_acquire_straight(struct lhi_claim_cache *m, uint64_t kind,
    struct lh_lease *l)
{
	enum lhi_how how = lhi_swap_usual(m, kind);

	return unlikely(how != GRANTED) ? how : lhi_fill_straight(m, l);
}

/* The same, after a look whether claim 0 had that key last. */
static inline __attribute__((always_inline)) enum lhi_how
lhi_acquire_usual(struct lhi_claim_cache *m, const struct lh *now,
    const struct lh *lh, uint64_t slot_ref, struct lh_lease *l)
{
	if (unlikely(now != lh) || unlikely(m->rec[0].use != CACHED_FREE) ||
	    unlikely(slot_ref != m->rec[0].slot_ref) ||
	    lhi_mutant_on(use_number))
		return UNTOUCHED;
	return lhi_acquire_straight(m, 0, l);
}

/* True if the options are those of the usual case: exclusive, and nothing that
 * lhi_acquire_usual() would do differently. */
static inline bool
lhi_has_usual_opts(const struct lhi_claim_cache *m,
    const struct lh_acquire_opts *o, uint64_t slot_ref)
{
	/* with few loads, and without jumps in the usual case */
	static const uint32_t local[2] = { LH_EXCLUSIVE, LH_LOCAL };
	uint64_t kind, local_kind;

	memcpy(&kind, &o->mode, sizeof(kind));	/* mode and scope */
	memcpy(&local_kind, local, sizeof(local_kind));
	kind |= o->flags & ~LH_NO_CREATE;
	return likely(o->size == sizeof(*o)) &&
	    likely(o->ttl_ms == m->ttl_ms) &&
	    /* (before its first tick m->ttl_ms is negative) */
	    likely((o->max_wait_ms | o->deadline_ns | o->ttl_ms) >= 0) &&
	    likely(((uintptr_t)o->cancel | (uintptr_t)o->more) == 0) &&
	    likely((kind & ~local_kind) == 0) &&
	    likely((kind == 0) | (slot_ref == m->local_home));
}

/* Swaps as lhi_swap_usual(), where tokens rise over all keys.  The caller has
 * seen that claim 0 had the key last, and that m->over_all is not 0. */
enum lhi_how lhi_swap_over_all(struct lhi_claim_cache *m);

/* As lhi_acquire_usual(), where tokens rise over all keys
 * (acquire_over_all.c). */
enum lhi_how lhi_acquire_over_all(struct lhi_claim_cache *m,
    const struct lh *now, const struct lh *lh, uint64_t slot_ref,
    struct lh_lease *l);

#endif
