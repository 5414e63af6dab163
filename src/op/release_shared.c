/* SPDX-License-Identifier: MIT */
/*
 * Releasing in shared mode; release.c calls it.  (Acquiring: acquire_shared.c.)
 *
 * There are three ways.  The only reader frees the word.  One of several stays
 * in the chain, idle, if nobody waits and no writer came recently.  Otherwise
 * it leaves: it ends its claim, marks it, and removes ended claims at the head.
 *
 * Idle and queue: a release makes its claim IDLE and then looks at the queue; a
 * waiter queues and then looks at the chain, and revokes idle readers there
 * (Dekker: each side read-modify-writes before it looks).  So either the waiter
 * has seen the idle reader, or the reader sees the waiter, leaves and wakes it.
 *
 * A release that finds the lease in another use takes the slow path.  Another
 * thread may be trying to convert it, perhaps without success; then the lease
 * is still held, and is released all the same (op/lease_verify.c).
 *
 * A crash or stop after the swap to IDLE leaves an idle reader, which anybody
 * can revoke; after the ending swap, a terminal claim, which anybody can
 * remove.
 */
#include <errno.h>
#include "op/release.h"
#include "proc/claim_cache.h"
#include "shm/damaged.h"
#include "shm/readers.h"
#include "shm/wait_queue.h"

/* Returns what this thread's claim cache remembers of a reader's lease, or
 * NULL. */
static struct lhi_cached_claim *
cached_reader(struct lh *lh, struct lhi_claim_cache *m,
    const struct lh_lease *l)
{
	uint32_t bit = lid_claim(l->id[1]) - m->base;
	struct lhi_cached_claim *r;

	if (m->lh != lh || bit >= SHM_GROUP)
		return NULL;
	r = &m->rec[bit];
	return r->use == CACHED_SHARED && r->id == l->id[1] &&
	    r->token == l->token && l->id[0] == lhi_claim_cache_session_id(m) &&
	    l->opaque == LEASE_LIVE && r->slot_ref == l->key ? r : NULL;
}

/* Leaves the chain from state `from` (HELD or IDLE) in use seq.  Returns false
 * if the claim had ended. */
static bool
leave_chain(struct lhi_view *v, struct shm_slot *s, uint32_t ci, unsigned from,
    uint64_t seq)
{
	struct shm_claim *c = &v->claims[ci];
	uint32_t n = 0;
	uint64_t st;

	do {
		st = sh64_load(&c->state);
		if (state_kind(st) != from || state_seq(st) != seq)
			return false;
	} while (!sh64_cas(&c->state, st, state_make(ST_REVOKED, seq, 0)) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX));
	if (LHI_REACHED(n, LHI_SWAPS_MAX)) {
		(void)lhi_damaged_restless(v, "the state of a claim", ci);
		return false;
	}
	/* claim #14, #15 */
	lhi_point("shared.revoked");
	(void)lhi_readers_leave(v, s, ci, seq, !lhi_queue_is_empty(s));
	return true;
}

/* Completes a release that freed the word when the lease had been ended, or
 * when somebody waits. */
static __attribute__((noinline)) int
finish_freed(struct lhi_view *v, struct shm_slot *s, uint64_t left, uint64_t st)
{
	if (!state_held(st) && state_st(st) != ST_REVOKED)
		(void)sh64_cas(&s->word, left, word_make(WORD_FREE,
		    CAUSE_EXPIRED, word_ver(left)));
	lhi_queue_wake_first(v, s);
	return state_held(st) ? 1 : -ESTALE;
}

/*
 * Frees the word if this is the only reader.  Only this thread can use the
 * claim again, so a store suffices for the claim.  Returns 1 if done; 0 if
 * there are other readers; -ESTALE if the lease had ended although the key was
 * not free.
 */
static inline int
free_word(struct lhi_claim_cache *m, struct lhi_cached_claim *r)
{
	struct shm_claim *c = &m->claims[r - m->rec];
	struct shm_slot *s = r->slot;
	uint64_t w = sh64_load(&s->word), st, left;

	if ((w & WORD_LOW) != (word_make(WORD_S, 0, 0) | r->held_low) ||
	    !lhi_readers_ends(c))
		return 0;
	/* the word first, then the claim (amendment C3) */
	st = sh64_load(&c->state);
	if (state_st(st) != ST_READ || state_seq(st) != lid_seq(r->id))
		return -ESTALE;
	left = (w & ~WORD_LOW) | word_make(WORD_FREE, CAUSE_RELEASED, 0);
	if (!sh64_cas(&s->word, w, left))
		return 0;
	lhi_point("shared.word_freed");
	st = sh64_load(&c->state);
	if (likely(state_held(st)))
		/* claim #5 */
		sh64_store(&c->state, state_make(ST_FREE, r->id, 0));
	return likely(state_held(st)) && likely(lhi_queue_is_empty(s)) ? 1 :
	    finish_freed(&m->lh->v, s, left, st);
}

/* Makes the claim idle, in the chain, if nobody waits, no writer came recently,
 * and no copy of the lease was converted elsewhere (guarantee G11).  Returns
 * false if nothing has changed. */
static inline __attribute__((always_inline)) bool
make_idle(struct lhi_claim_cache *m, struct lhi_cached_claim *r)
{
	struct shm_claim *c = &m->claims[r - m->rec];
	uint64_t st = sh64_load(&c->state);

	if (!lhi_queue_is_empty(r->slot) ||
	    sh32_load_rlx(&r->slot->pause_ms) != 0 ||
	    word_mode(sh64_load(&r->slot->word)) != WORD_S ||
	    state_st(st) != ST_READ || state_seq(st) != lid_seq(r->id) ||
	    /* claim #12 */
	    !sh64_cas(&c->state, st, state_make(ST_IDLE, r->id, 0)))
		return false;
	lhi_point("shared.idle");
	r->use = CACHED_IDLE;
	m->idle |= 1u << (r - m->rec);
	return true;
}

/* Leaves the chain after the claim became idle and somebody began to wait. */
static __attribute__((noinline)) void
leave_idle(struct lhi_claim_cache *m, struct lhi_cached_claim *r)
{
	if (leave_chain(&m->lh->v, r->slot, m->base + (uint32_t)(r - m->rec),
	    ST_IDLE, lid_seq(r->id)))
		r->use = CACHED_OUT;
}

/* Leaves the chain from HELD, or from the use that a conversion has made of
 * it.  Returns false if the lease had ended. */
static bool
leave_moving(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h)
{
	struct shm_claim *c = h->claim;
	uint32_t n = 0;
	uint64_t st;

	do {
		st = sh64_load(&c->state);
		if (!lhi_lease_is_current(lh, l, h, st) &&
		    !lhi_lease_is_moving(lh, l, h, st))
			return false;
	} while (!sh64_cas(&c->state, st,
	    state_make(ST_REVOKED, state_seq(st), 0)) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX));
	if (LHI_REACHED(n, LHI_SWAPS_MAX)) {
		(void)lhi_damaged_restless(&lh->v, "the state of a claim",
		    h->ci);
		return false;
	}
	lhi_point("shared.revoked");				/* claim #15 */
	(void)lhi_readers_leave(&lh->v, h->slot, h->ci, state_seq(st),
	    !lhi_queue_is_empty(h->slot));
	return true;
}

/* Releases in any other thread, or with a request id. */
int
lhi_release_reader(struct lh *lh, struct lh_lease *l)
{
	struct lhi_held h;
	int error = lhi_lease_check(lh, l, &h);

	if (error != 0)
		return error == -EALREADY ? 0 : error;
	/* another thread may present the same lease, and the owner may use the
	 * claim again: so swap the claim first; the word follows */
	if (!leave_moving(lh, l, &h))
		return lhi_lease_fail_lost(lh, &h);
	l->opaque = LEASE_RELEASED;
	lhi_release_record(lh, l, &h);
	return 0;
}

static __attribute__((noinline)) int
release_shared_slow(struct lh *lh, struct lh_lease *l)
{
	return lhi_release_slow(lh, l, lhi_release_reader);
}

/* Releases in the thread that acquired the lease, when there are other
 * readers. */
static __attribute__((noinline)) int
release_shared_beside(struct lhi_claim_cache *m, struct lhi_cached_claim *r,
    struct lh_lease *l)
{
	struct timespec ts = { 0, 0 };

	if (sh32_load_rlx(&r->slot->pause_ms) != 0)
		lhi_coarse(&ts);
	if (!lhi_readers_paused(r->slot, lhi_timespec_ns(&ts)) &&
	    make_idle(m, r)) {
		l->opaque = LEASE_RELEASED;
		if (!lhi_queue_is_empty(r->slot))
			leave_idle(m, r);
		return 0;
	}
	r->use = CACHED_OUT;
	if (word_mode(sh64_load(&r->slot->word)) != WORD_S ||
	    !leave_chain(&m->lh->v, r->slot, m->base + (uint32_t)(r - m->rec),
	    ST_READ, lid_seq(r->id)))
		return release_shared_slow(m->lh, l);
	l->opaque = LEASE_RELEASED;
	return 0;
}

/* Everything but the straight path below. */
static __attribute__((noinline)) int
release_shared_other(struct lh *lh, struct lh_lease *l)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct lhi_cached_claim *r = cached_reader(lh, m, l);
	int freed;

	if (unlikely(r == NULL))
		return release_shared_slow(lh, l);
	freed = free_word(m, r);
	if (freed == 0)
		return release_shared_beside(m, r, l);
	r->slot_ref = 0;
	if (unlikely(freed < 0)) {
		r->use = CACHED_OUT;
		return release_shared_slow(lh, l);
	}
	r->use = CACHED_FREE;
	l->opaque = LEASE_RELEASED;
	return 0;
}

/* Claim 0 became idle, and somebody began to wait. */
static __attribute__((noinline)) int
release_shared_waited(struct lhi_claim_cache *m)
{
	leave_idle(m, &m->rec[0]);
	return 0;
}

/* Completes a release after free_word() did not return 1. */
static __attribute__((noinline)) int
release_shared_freed(struct lhi_claim_cache *m, int freed, struct lh_lease *l)
{
	if (freed == 0)
		return release_shared_beside(m, &m->rec[0], l);
	m->rec[0].slot_ref = 0;
	m->rec[0].use = CACHED_OUT;
	return release_shared_slow(m->lh, l);
}

/* The straight path: claim 0 frees the word, or becomes idle beside other
 * readers.  A constant claim, and nothing is kept over a call, as in
 * acquire. */
int
lhi_release_shared(struct lh *lh, struct lh_lease *l)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct lhi_cached_claim *r = &m->rec[0];
	struct shm_slot *s = r->slot;
	int freed;

	if (r->use != CACHED_SHARED || m->lh != lh || r->id != l->id[1] ||
	    r->token != l->token || l->id[0] != lhi_claim_cache_session_id(m) ||
	    l->opaque != LEASE_LIVE || r->slot_ref != l->key)
		return release_shared_other(lh, l);
	if (((sh64_load(&s->word) ^ r->held_low) & MASK(CLAIM_BITS)) == 0 &&
	    lhi_readers_ends(m->claims)) {
		freed = free_word(m, r);
		if (unlikely(freed != 1))
			return release_shared_freed(m, freed, l);
		r->slot_ref = 0;
		r->use = CACHED_FREE;
		l->opaque = LEASE_RELEASED;
		return 0;
	}
	if (unlikely(!make_idle(m, r)))
		return release_shared_beside(m, r, l);
	l->opaque = LEASE_RELEASED;
	return lhi_queue_is_empty(s) ? 0 : release_shared_waited(m);
}
