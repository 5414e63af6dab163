/* SPDX-License-Identifier: MIT */
/*
 * Release.  (Verify: lease_verify.c.  Extend: extend.c.)
 *
 * It compares before it changes (guarantee G11).  The lease names its claim,
 * the use of the claim, and the token; these determine the lock word of its
 * grant.  Release swaps exactly that word.  So a caller that comes too late
 * fails, and changes nothing.
 *
 * Only the winner of the word's swap touches the claim (amendment C2).  The
 * thread whose claim cache has the claim may use a store, because only that
 * thread can use the claim again.  Any other thread swaps the claim's state and
 * leaves the rest to the owner.  A crash after the word's swap leaves a HELD
 * claim that no word names.  That is normal: nobody waits for it, and it is
 * freed with its session.  (If it is a named session's, which may live on, the
 * chunk's next keeper reclaims it.)
 *
 * A lease that another thread or process is converting or handing over may be
 * released, too: its word decides (lease_verify.c).
 */
#include <errno.h>
#include "base/error.h"
#include "op/release.h"
#include "proc/claim_cache.h"
#include "shm/consistency.h"
#include "shm/damaged.h"
#include "shm/counters.h"
#include "shm/events.h"
#include "shm/session_named.h"
#include "shm/wait_queue.h"

/* Frees the claim after the word was freed, if the claim is still in the
 * lease's use, or in the next one, which a conversion has made of it.  Returns
 * false if the lease had ended. */
static bool
free_claim(const struct lhi_held *h)
{
	uint32_t n = 0;
	uint64_t st;

	/* another thread may be extending the lease: follow the state */
	while (st = sh64_load(&h->claim->state), (state_held(st) &&
	    state_seq(st) == lid_seq(h->id)) ||
	    lhi_lease_is_moved(h, st, lhi_lease_moved_seq(h->id))) {
		if (!LHI_WITHIN(n, LHI_SWAPS_MAX)) {
			(void)lhi_damaged_restless(&h->lh->v,
			    "the state of a claim", h->ci);
			return false;
		}
		if (sh64_cas(&h->claim->state, st,
		    state_make(ST_FREE, state_seq(st), 0)))
			return true;
	}
	return false;
}

/*
 * Marks the claim of a named session as MOVING.  Any process may release such a
 * lease, and the session outlives a process that is killed before the claim is
 * free.  Other processes may present the lease as well, so a mark of a later
 * use stays.  (A mark of an earlier use was left by a process that was killed.)
 */
static void
mark_moving(struct lh *lh, const struct lhi_held *h, uint64_t st)
{
	shm_u32 *flags = &h->claim->wflags;
	uint32_t was, n = 0;

	if (lhi_claim_owner(&lh->v, h->ci) == lh->sid ||
	    lhi_mutant_on(leaves_unsaid))
		return;
	do {
		was = sh32_load(flags);
		if ((was & MOVING_MASK) == lhi_named_mark(st) ||
		    !lhi_lease_is_moved(h, sh64_load(&h->claim->state),
		    state_seq(st)))
			return;
	} while (!sh32_cas(flags, was, (was & ~MOVING_MASK) |
	    lhi_named_mark(st)) && LHI_WITHIN(n, LHI_SWAPS_MAX));
	if (LHI_REACHED(n, LHI_SWAPS_MAX))
		(void)lhi_damaged_restless(&lh->v, "the flags of a claim",
		    h->ci);
	lhi_point("release.leaving");
}

/*
 * True if a keeper was faster to reclaim the claim, which was marked as moving
 * (session_claim.c), after the word was freed.  Otherwise the lease had ended,
 * as its state or the clock shows; or (which looks the same) it was broken and
 * then reclaimed.
 */
static bool
is_reclaimed(struct lh *lh, const struct lh_lease *l, const struct lhi_held *h,
    uint64_t st)
{
	uint64_t now = sh64_load(&h->claim->state);

	if (h->sid == lh->sid || lhi_lease_is_orphaned(lh, l))
		return false;
	return (state_st(now) == ST_FREE || (state_seq(now) !=
	    lid_seq(h->id) && state_seq(now) != lhi_lease_moved_seq(h->id))) &&
	    lhi_now_ns(&lh->v) < lhi_deadline_ns(&lh->v, state_deadline(st));
}

/* Releases on the slow path. */
static int
release_any(struct lh *lh, struct lh_lease *l)
{
	struct lhi_held h;
	struct lhi_claim_cache *m;
	uint64_t st;
	bool held, freed;
	int error = lhi_lease_check(lh, l, &h);

	if (error != 0)
		return error == -EALREADY ? 0 : error;
	st = sh64_load(&h.claim->state);
	held = lhi_lease_is_current(lh, l, &h, st) ||
	    lhi_lease_is_moving(lh, l, &h, st);
	if (held) {
		lhi_consistency_release(h.slot, word_ver(h.word));
		mark_moving(lh, &h, st);
	}
	if (!held || !sh64_cas(&h.slot->word, h.word, lhi_free_word(h.slot,
	    CAUSE_RELEASED, word_ver(h.word)))) {
		if (lhi_mutant_on(loser_frees))
			sh64_store(&h.claim->state,
			    state_make(ST_FREE, state_seq(st), 0));
		return lhi_lease_fail_lost(lh, &h);
	}
	lhi_point("release.word_freed");
	freed = free_claim(&h);
	m = lhi_claim_cache_get(lh);
	if (freed && m != NULL && m->group != NULL &&
	    h.ci - m->base < SHM_GROUP)
		lhi_claim_cache_put(m, (int)(h.ci - m->base));
	lhi_queue_wake_first(&lh->v, h.slot);
	if (!freed && !is_reclaimed(lh, l, &h, st))
		return lhi_lease_fail_lost(lh,
		    &h); /* it had expired unnoticed */
	l->opaque = LEASE_RELEASED;
	lhi_release_record(lh, l, &h);
	return 0;
}

int
lhi_lease_give_back(struct lh *lh, struct lh_lease *l)
{
	return l->mode == LH_SHARED ? lhi_release_reader(lh, l) :
	    release_any(lh, l);
}

static __attribute__((noinline)) int
release_slow(struct lh *lh, struct lh_lease *l)
{
	return lhi_release_slow(lh, l, release_any);
}

__attribute__((noinline, cold)) int
lhi_release_late(struct lhi_claim_cache *m, struct shm_slot *s,
    struct lh_lease *l)
{
	bool broken = state_st(sh64_load(&m->claims[lid_claim(l->id[1]) -
	    m->base].state)) == ST_BROKEN;

	/* report it to the next holder, unless that was faster */
	(void)sh64_cas(&s->word, lhi_free_word(s, CAUSE_RELEASED, l->token),
	    lhi_free_word(s, broken ? CAUSE_BROKEN : CAUSE_EXPIRED,
	    l->token));
	if (link_idx(sh64_load_sc(&s->waitq)) != 0)
		lhi_queue_wake_first(&m->lh->v, s);
	l->opaque = LEASE_RELEASED;
	lhi_counters_add(&m->lh->v, STAT_TOLD_LOST, 1);
	lhi_event_lease(&m->lh->v, LH_LOG_TOLD_LOST, false, s,
	    lid_claim(l->id[1]), l->token,
	    broken ? CAUSE_BROKEN : CAUSE_EXPIRED);
	return lhi_fail(-ESTALE, "the lease had %s; the key is free now",
	    broken ? "been broken by an operator" : "run out");
}

__attribute__((noinline)) int
lhi_release_wake(struct lhi_claim_cache *m, struct shm_slot *s, uint64_t q)
{
	if (!lhi_queue_tended(&m->lh->v, q))
		lhi_queue_wake_first(&m->lh->v, s);
	return 0;
}

static inline __attribute__((always_inline)) int
release_own(struct lhi_claim_cache *m, struct lhi_cached_claim *r,
    struct lh_lease *l, uint32_t kind)
{
	struct shm_claim *c = &m->claims[r - m->rec];
	struct shm_slot *s = r->slot;
	uint64_t held = kind == 0 ? r->word : r->token << VER_SHIFT |
	    r->held_low, left, q;

	left = (held & ~WORD_LOW) | word_make(WORD_FREE, CAUSE_RELEASED | kind,
	    0);
	if (unlikely(!sh64_cas(&s->word, held, left)))
		return release_slow(m->lh, l);		/* reports why */
	lhi_point("release.word_freed");
	if (unlikely(!state_held(sh64_load_rlx(&c->state))))
		return lhi_release_late(m, s, l);
	sh64_store(&c->state, r->id << SEQ_SHIFT);		/* claim #5 */
	r->word = left;
	if (kind != 0)
		r->use = CACHED_FREE;
	l->opaque = LEASE_RELEASED;
	/* pairs with: queue insert, then the waiter's look at the word */
	q = sh64_load_sc(&s->waitq);
	if (unlikely(link_idx(q) != 0))
		return lhi_release_wake(m, s, q);
	return 0;
}

static __attribute__((noinline)) int
release_other(struct lh *lh, struct lh_lease *l)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct lhi_cached_claim *r;

	if (l != NULL && l->mode == LH_SHARED)
		return lhi_release_shared(lh, l);
	r = lhi_lease_cached_claim(lh, m, l, CACHED_HELD);
	if (r != NULL)
		return release_own(m, r, l, 0);
	r = lhi_lease_cached_claim(lh, m, l, CACHED_LENT);
	return r == NULL ? release_slow(lh, l) :
	    release_own(m, r, l, FREE_CLUSTER);
}

int
lh_release(struct lh *lh, struct lh_lease *l)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;

	/* as in acquire: the usual case, with a constant claim number */
	if (unlikely(l == NULL) || unlikely(m->lh != lh) ||
	    unlikely(!lhi_lease_is_of_claim_0(m, l)))
		return release_other(lh, l);
	return release_own(m, &m->rec[0], l, 0);
}
