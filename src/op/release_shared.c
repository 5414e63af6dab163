/* SPDX-License-Identifier: MIT */
/*
 * Releasing in shared mode; release.c calls it.  (Acquiring: acquire_shared.c.)
 *
 * There are three ways.  One of several readers stays in the chain, idle, if
 * nobody waits and no writer came recently.  So does the only reader, if it was
 * the only one ALONE times in a row.  Then its pairs swap the state of its own
 * claim, and write no line that others read.  Otherwise the only reader frees
 * the word; and one of several leaves: it ends its claim, marks it, and removes
 * ended claims at the head.
 *
 * An idle reader costs a writer a revocation.  So whoever was revoked is not
 * idle again by itself before it was alone as often once more.
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
#include "shm/claim_record.h"
#include "shm/damaged.h"
#include "shm/readers.h"
#include "shm/wait_queue.h"

#define ALONE 16u

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
	    lhi_lease_has_key(l, r->slot_ref) ? r : NULL;
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
 * and no copy of the lease was converted elsewhere (guarantee G11).  But claim
 * 1, which the straight path knows, leaves when it has been revived as often as
 * may be, so that it can be pushed again at once.  Returns false if nothing has
 * changed. */
static inline __attribute__((always_inline)) bool
make_idle(struct lhi_claim_cache *m, struct lhi_cached_claim *r)
{
	struct shm_claim *c = &m->claims[r - m->rec];
	uint64_t st = sh64_load(&c->state), limit;

	limit = lhi_reader_last_id(c, r->id);
	if ((limit == 0 && r == &m->rec[READER_CLAIM] &&
	    !lhi_mutant_on(spent_stays)) ||
	    !lhi_queue_is_empty(r->slot) ||
	    sh32_load_rlx(&r->slot->pause_ms) != 0 ||
	    word_mode(sh64_load(&r->slot->word)) != WORD_S ||
	    state_st(st) != ST_READ || state_seq(st) != lid_seq(r->id) ||
	    /* claim #12 */
	    !sh64_cas(&c->state, st, state_make(ST_IDLE, r->id, 0)))
		return false;
	lhi_point("shared.idle");
	r->use = CACHED_IDLE;
	r->word = state_make(ST_IDLE, r->id, 0);
	r->limit = limit;
	if (r->limit == 0)	/* not by the straight path */
		r->mark = NO_MARK;
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

/* True if this reader, the only one now, is to stay in the chain, idle. */
static bool
stays_alone(struct lhi_claim_cache *m, const struct lhi_cached_claim *r)
{
	struct timespec ts;

	if (r->limit == 0) {
		m->alone = r->token == m->alone_token + 1 ? m->alone + 1 : 0;
		m->alone_token = r->token;
		if (m->alone < ALONE)
			return false;
	} else if (r->id >= r->limit) {
		return false;
	}
	if (sh32_load_rlx(&r->slot->pause_ms) == 0)
		return true;
	lhi_coarse(&ts);
	return !lhi_readers_paused(r->slot, lhi_timespec_ns(&ts));
}

/* Takes claim 1 back from another key, where it is idle: this thread reads one
 * key again and again, and by another claim. */
static void
recall_reader_claim(struct lhi_claim_cache *m)
{
	if (m->rec[READER_CLAIM].use == CACHED_IDLE &&
	    lhi_claim_reclaim(&m->lh->v, m->base + READER_CLAIM, true))
		lhi_claim_cache_put(m, READER_CLAIM);
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
	if (freed > 0 && r != &m->rec[READER_CLAIM] && stays_alone(m, r))
		recall_reader_claim(m);
	r->slot_ref = 0;
	if (unlikely(freed < 0)) {
		r->use = CACHED_OUT;
		return release_shared_slow(lh, l);
	}
	r->use = CACHED_FREE;
	l->opaque = LEASE_RELEASED;
	return 0;
}

/* Claim 1 became idle, and somebody began to wait. */
static __attribute__((noinline)) int
release_shared_waited(struct lhi_claim_cache *m)
{
	leave_idle(m, &m->rec[READER_CLAIM]);
	return 0;
}

/* Claim 1, not on the straight path. */
static __attribute__((noinline)) int
release_reader(struct lhi_claim_cache *m, struct lh_lease *l)
{
	struct lhi_cached_claim *r = &m->rec[READER_CLAIM];
	int freed = 0;

	if (((sh64_load(&r->slot->word) ^ r->held_low) &
	    MASK(CLAIM_BITS)) == 0 &&
	    lhi_readers_ends(&m->claims[READER_CLAIM]) && !stays_alone(m, r))
		freed = free_word(m, r);
	if (freed == 0)
		return release_shared_beside(m, r, l);
	r->slot_ref = 0;
	if (unlikely(freed < 0)) {
		r->use = CACHED_OUT;
		return release_shared_slow(m->lh, l);
	}
	r->use = CACHED_FREE;
	l->opaque = LEASE_RELEASED;
	return 0;
}

/*
 * The straight path: claim 1 becomes idle, if its last release left it so.  The
 * swap is from the very state that the acquire wrote: the lease is a reader's
 * still, and was neither extended nor converted.
 */
int
lhi_release_shared(struct lh *lh, struct lh_lease *l)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct lhi_cached_claim *r = &m->rec[READER_CLAIM];
	struct shm_slot *s = r->slot;
	uint64_t idle = state_make(ST_IDLE, r->id, 0);

	if (unlikely(r->use != CACHED_SHARED) || unlikely(m->lh != lh) ||
	    unlikely(((lhi_lease_head(l) ^ m->head_1[0]) |
	    (l->id[0] ^ m->head_1[1]) | (l->id[1] ^ r->id) |
	    (l->token ^ r->token)) != 0))
		return release_shared_other(lh, l);
	if (unlikely(r->id >= r->limit) ||
	    unlikely(sh32_load_rlx(&s->pause_ms) != 0) ||
	    unlikely(!sh64_cas(&m->claims[READER_CLAIM].state, r->word,
	    idle)))						/* claim #12 */
		return release_reader(m, l);
	lhi_point("shared.idle");
	r->use = CACHED_IDLE;
	r->word = idle;
	l->opaque = LEASE_RELEASED;
	return likely(lhi_queue_is_empty(s)) ? 0 : release_shared_waited(m);
}
