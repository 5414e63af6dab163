/* SPDX-License-Identifier: MIT */
/*
 * Release, verify: what the presenter of a lease may do.  (Extend: extend.c.)
 *
 * All of them compare before they change (G11).  The lease says which claim,
 * which use of it, and which token; the lock word of its grant follows from
 * these.  Release swaps exactly that word.  Whoever comes too late therefore
 * fails, and changes nothing.
 *
 * Told to be lost.  A state is read, then the clock; others may have extended
 * the lease in between, in time.  So who finds it past its deadline makes it so
 * first (G3), and where that cannot be done, since it is not any more, he looks
 * again (LEASE_LIVES).
 *
 * Release.  Only the winner of the word's swap touches the claim (C2).  In the
 * thread whose claim cache has the claim a store suffices, because only that
 * thread could use it again; any other thread swaps it and leaves the rest to
 * the owner.  A crash after the word's swap leaves a HELD claim that no word
 * names: normal, and buried with its session; nobody waits for it.  (A named
 * session's, which may live on: taken back by the chunk's next keeper.)
 *
 * In the midst of a conversion or a hand-off by another thread, or by another
 * process if the lease is a named session's, the claim is in the use that it is
 * to be of next, and the word grants the lease still.  The word decides: the
 * lease is held, and may be released, also if whoever was at it has been killed
 * (its session may live on for ever, and a strict lease has no deadline).  Word
 * X(c, v) seen after the state: so that state is of this grant
 * (shm/lock_word.c, I2), and whoever swaps the word away is the only one to do
 * so.  A reader's grant says of which push it is, and is written before that;
 * no claim is revived so often in one that it comes to where a conversion would
 * lead.
 *
 * It may be extended in that use, too: so who takes back what he began, or goes
 * on to end it, follows the deadline.  That the use is the very same is seen by
 * the claim's `since`: to come to this number again takes a claim 2^20 uses,
 * and more than one tick of its thread's clock.
 *
 * (Above 500 lines: every call that presents a lease goes by the same looks at
 * claim and word, which are here once.)
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include "base/error.h"
#include "op/token_ceiling.h"
#include "op/cluster_check.h"
#include "prim/futex.h"
#include "proc/claim_cache.h"
#include "shm/readers.h"
#include "shm/events.h"
#include "shm/claim_record.h"
#include "shm/lock_word.h"
#include "shm/session_named.h"
#include "shm/wait_queue.h"
#include "shm/counters.h"

static uint64_t
moved_seq(uint64_t id)
{
	return (lid_seq(id) + CONVERT_STEP) & MASK(SEQ_BITS);
}

/*
 * Is the reader's claim in the chain, as of the lease's own push?  Its word is
 * freed before its claim, by who is the only one there: so that the word is
 * shared says nothing, if others have joined since, or begun anew.
 */
static bool
chain_grants(const struct lhi_held *h)
{
	uint64_t grant = sh64_load(&h->claim->grant);
	uint64_t w = sh64_load(&h->slot->word), ver = word_ver(h->word), l, st;
	int has;

	if (word_mode(w) != WORD_S || grant >> GRANT_SHIFT != ver)
		return false;
	if (word_ver(w) == ver)
		return true;		/* nobody has joined since */
	/* without being marked only the last one goes, when it is alone: so who
	 * has others behind it, in this use, is in it, and there is no need to
	 * walk (or it was announced and is to be in it: nobody knows it then,
	 * and who might guess asks the chain, too: lh_lease_recall()) */
	l = sh64_load(&h->claim->rnext);
	st = sh64_load(&h->claim->state);
	has = !link_marked(l) && link_idx(l) != 0 && state_held(st) &&
	    (state_seq(st) == lid_seq(h->id) ||
	    state_seq(st) == moved_seq(h->id)) ? 1 :
	    lhi_readers_has(&h->lh->v, h->slot, h->ci);
	/* (one that never holds still: its state decides) */
	return has != 0 && sh64_load(&h->claim->grant) >> GRANT_SHIFT == ver;
}

static bool
word_grants(const struct lhi_held *h)
{
	return h->shared ? chain_grants(h) :
	    sh64_load(&h->slot->word) == h->word;
}

bool
lhi_lease_current(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h, uint64_t st)
{
	if (lhi_mutant_on(use_number))
		return state_st(st) == ST_HELD;
	return lhi_claim_owner(&lh->v, h->ci) == l->id[0] &&
	    state_kind(st) == (h->shared ? ST_READ : ST_HELD) &&
	    state_seq(st) == lid_seq(l->id[1]) &&
	    lhi_claim_epoch(h->claim) == lid_epoch(l->id[1]) &&
	    sh64_load(&h->claim->slot_ref) == l->key &&
	    l->token == (h->shared ? lhi_reader_token(h->slot, h->claim) :
	    lhi_lock_token(h->slot, h->word)) &&
	    (!h->shared || word_grants(h));
}

bool
lhi_lease_granted(const struct lhi_held *h)
{
	return lhi_cluster_check_of(h) &&
	       word_grants(h); /* cluster_check.c, I1 */
}

bool
lhi_lease_in_motion(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h, uint64_t st)
{
	return state_held(st) && state_seq(st) == moved_seq(l->id[1]) &&
	    lhi_claim_owner(&lh->v, h->ci) == l->id[0] &&
	    lhi_claim_epoch(h->claim) == lid_epoch(l->id[1]) &&
	    sh64_load(&h->claim->slot_ref) == l->key &&
	    (!h->shared || lhi_reader_may_move(h->claim, lid_seq(l->id[1]))) &&
	    l->token == (h->shared ? lhi_reader_token(h->slot, h->claim) :
	    lhi_lock_token(h->slot, h->word)) &&
	    word_grants(h);
}

enum lhi_lease_is
lhi_lease_now(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h, uint64_t st)
{
	bool current = lhi_lease_current(lh, l, h, st);

	if ((!current && !lhi_lease_in_motion(lh, l, h, st)) ||
	    !lhi_lease_granted(h) ||
	    lhi_now_ns(&lh->v) >= lhi_deadline_ns(&lh->v, state_deadline(st)))
		return LEASE_OVER;
	return current ? LEASE_HELD : LEASE_MOVING;
}

void
lhi_lease_will_move(struct lh *lh, uint32_t ci, uint64_t st)
{
	shm_u32 *flags = &lh->v.claims[ci].wflags;
	uint32_t was;

	if (lhi_claim_owner(&lh->v, ci) == lh->sid)
		return;
	do
		was = sh32_load(flags);
	while (!sh32_cas(flags, was, (was & ~MOVING_MASK) |
	    lhi_named_mark(st)));
	lhi_point("lease.moving");
}

void
lhi_lease_moves(const struct lhi_held *h, uint64_t moved)
{
	shm_u32 *flags = &h->claim->wflags;
	uint32_t was;

	if (lhi_claim_owner(&h->lh->v, h->ci) == h->lh->sid)
		return;
	/* the flags, then the state: who announces a later use says that it
	 * moves first, and the swap of what was there before fails */
	do {
		was = sh32_load(flags);
		if (!lhi_lease_moved(h, sh64_load(&h->claim->state),
		    state_seq(moved)))
			return;		/* it has ended */
	} while (!sh32_cas(flags, was, (was & ~MOVING_MASK) |
	    lhi_named_mark(moved)));
	lhi_point("lease.moving");
}

void
lhi_lease_at_rest(struct lh *lh, uint32_t ci, uint64_t st)
{
	struct shm_claim *c = &lh->v.claims[ci];
	shm_u32 *flags = &c->wflags;
	uint32_t was;

	do {
		was = sh32_load(flags);
		if ((was & MOVING_MASK) != lhi_named_mark(st) ||
		    state_seq(sh64_load(&c->state)) != state_seq(st))
			return;		/* another's, of another use */
	} while (!sh32_cas(flags, was, was & ~MOVING_MASK));
	lhi_point("lease.at_rest");
}

bool
lhi_lease_moved(const struct lhi_held *h, uint64_t now, uint64_t seq)
{
	return state_held(now) && state_seq(now) == seq &&
	    sh64_load(&h->claim->since) == h->since;
}

bool
lhi_lease_unmove(const struct lhi_held *h, uint64_t moved, uint64_t st)
{
	uint64_t now;

	while (now = sh64_load(&h->claim->state),
	    lhi_lease_moved(h, now, state_seq(moved))) {
		if (sh64_cas(&h->claim->state, now, state_make(state_st(st),
		    state_seq(st), state_deadline(now))))
			return true;
	}
	return false;
}

void
lhi_lease_ended(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h)
{
	struct timespec ts;

	if (!lhi_view_watched(&lh->v))
		return;
	lhi_coarse(&ts);
	if (sh32_load_rlx(&lh->v.hdr->options) & SHM_OPT_HOLD_TIMES)
		lhi_counters_held(&lh->v, lhi_timespec_ns(&ts) +
		    lhi_clock_lead_ns(&lh->v) - l->acquired_ns);
	if (sh32_load_rlx(&lh->v.hdr->flags) & SHM_LOG_GRANTS)
		lhi_event_lease(&lh->v, LH_LOG_RELEASED, h->shared, h->slot,
		    h->ci, l->token, 0);
}

/*
 * The word was ours to free: so is the claim, if it still is in that use; or in
 * the next one, which is what whoever was converting it has made of it, and no
 * later use's.  False: the lease had ended.
 */
static bool
free_claim(const struct lhi_held *h)
{
	uint64_t st;

	/* an extension may be under way in another thread: follow the state */
	while (st = sh64_load(&h->claim->state), (state_held(st) &&
	    state_seq(st) == lid_seq(h->id)) ||
	    lhi_lease_moved(h, st, moved_seq(h->id))) {
		if (sh64_cas(&h->claim->state, st,
		    state_make(ST_FREE, state_seq(st), 0)))
			return true;
	}
	return false;
}

/*
 * A named session's lease may be released by any process, and outlive it: who
 * is killed before the claim is free leaves it MOVING, as in a hand-off.  But
 * others may present the lease as well: what is said of a later use stays.
 * (Of an earlier one it is what somebody left who was killed.)
 */
static void
say_leaving(struct lh *lh, const struct lhi_held *h, uint64_t st)
{
	shm_u32 *flags = &h->claim->wflags;
	uint32_t was;

	if (lhi_claim_owner(&lh->v, h->ci) == lh->sid)
		return;
	do {
		was = sh32_load(flags);
		if ((was & MOVING_MASK) == lhi_named_mark(st) ||
		    !lhi_lease_moved(h, sh64_load(&h->claim->state),
		    state_seq(st)))
			return;
	} while (!sh32_cas(flags, was, (was & ~MOVING_MASK) |
	    lhi_named_mark(st)));
	lhi_point("release.leaving");
}

/*
 * The word was ours to free, the claim, in state st before that, is not any
 * more.  Has a keeper been quicker to take it back, since it was said to be
 * moving (session_claim.c)?  Otherwise it had ended: then it says so still, or
 * the clock does; or (not told apart) it was broken, and has been taken back.
 */
static bool
taken_back(struct lh *lh, const struct lh_lease *l, const struct lhi_held *h,
    uint64_t st)
{
	uint64_t now = sh64_load(&h->claim->state);

	if (l->id[0] == lh->sid || lhi_lease_orphaned(lh, l))
		return false;
	return (state_st(now) == ST_FREE || (state_seq(now) !=
	    lid_seq(h->id) && state_seq(now) != moved_seq(h->id))) &&
	    lhi_now_ns(&lh->v) < lhi_deadline_ns(&lh->v, state_deadline(st));
}

/* Everything but the fast path below, and requests. */
static int
release_checked(struct lh *lh, struct lh_lease *l)
{
	struct lhi_held h;
	struct lhi_claim_cache *m;
	uint64_t st;
	bool held, freed;
	int error = lhi_lease_check(lh, l, &h);

	if (error != 0)
		return error == -EALREADY ? 0 : error;
	st = sh64_load(&h.claim->state);
	held = lhi_lease_current(lh, l, &h, st) ||
	    lhi_lease_in_motion(lh, l, &h, st);
	if (held)
		say_leaving(lh, &h, st);
	if (!held || !sh64_cas(&h.slot->word, h.word, lhi_free_word(h.slot,
	    CAUSE_RELEASED, word_ver(h.word)))) {
		if (lhi_mutant_on(loser_frees))
			sh64_store(&h.claim->state,
			    state_make(ST_FREE, state_seq(st), 0));
		return lhi_lease_lost(lh, &h);
	}
	lhi_point("release.word_freed");
	freed = free_claim(&h);
	m = lhi_claim_cache_get(lh);
	if (freed && m != NULL && m->group != NULL &&
	    h.ci - m->base < SHM_GROUP)
		lhi_claim_cache_put(m, (int)(h.ci - m->base));
	lhi_queue_wake_first(&lh->v, h.slot);
	if (!freed && !taken_back(lh, l, &h, st))
		return lhi_lease_lost(lh, &h);	/* it had expired unnoticed */
	l->opaque = LEASE_RELEASED;
	lhi_lease_ended(lh, l, &h);
	return 0;
}

int
lhi_lease_give_back(struct lh *lh, struct lh_lease *l)
{
	return l->mode == LH_SHARED ? lhi_release_reader(lh, l) :
	    release_checked(lh, l);
}

static __attribute__((noinline)) int
release_slow(struct lh *lh, struct lh_lease *l)
{
	return lhi_release_rare(lh, l, release_checked);
}

/* The word was ours to free, but the lease had been made to expire. */
static __attribute__((noinline, cold)) int
release_late(struct lhi_claim_cache *m, struct shm_slot *s, struct lh_lease *l)
{
	bool broken = state_st(sh64_load(&m->claims[lid_claim(l->id[1]) -
	    m->base].state)) == ST_BROKEN;

	/* the next holder is to be told, if it has not been quicker */
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

static __attribute__((noinline)) int
release_kick(struct lhi_claim_cache *m, struct shm_slot *s, uint64_t q)
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
	uint64_t ver = r->token << VER_SHIFT, left, q;

	left = ver | word_make(WORD_FREE, CAUSE_RELEASED | kind, 0);
	if (unlikely(!sh64_cas(&s->word, ver | r->held_low, left)))
		return release_slow(m->lh, l);		/* says why */
	lhi_point("release.word_freed");
	if (unlikely(!state_held(sh64_load_rlx(&c->state))))
		return release_late(m, s, l);
	sh64_store(&c->state, r->id << SEQ_SHIFT);		/* 5 */
	r->left = left;
	r->use = CACHED_FREE;
	l->opaque = LEASE_RELEASED;
	/* pairs with: queue insert, then the waiter's look at the word */
	q = sh64_load_sc(&s->waitq);
	if (unlikely(link_idx(q) != 0))
		return release_kick(m, s, q);
	return 0;
}

static __attribute__((noinline)) int
release_other(struct lh *lh, struct lh_lease *l)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct lhi_cached_claim *r;

	if (l != NULL && l->mode == LH_SHARED)
		return lhi_release_shared(lh, l);
	r = lhi_lease_remembered(lh, m, l, CACHED_HELD);
	if (r != NULL)
		return release_own(m, r, l, 0);
	r = lhi_lease_remembered(lh, m, l, CACHED_LENT);
	return r == NULL ? release_slow(lh, l) :
	    release_own(m, r, l, FREE_CLUSTER);
}

int
lh_release(struct lh *lh, struct lh_lease *l)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;

	/* as in acquire: the usual case with a constant claim number */
	if (unlikely(l == NULL) || unlikely(m->lh != lh) ||
	    unlikely(!lhi_lease_remembers(m, &m->rec[0], l, CACHED_HELD)))
		return release_other(lh, l);
	return release_own(m, &m->rec[0], l, 0);
}

int
lhi_lease_settle(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h)
{
	uint64_t st = sh64_load(&h->claim->state), seq, w;
	int64_t now = lhi_now_ns(&lh->v);

	if (!h->shared && sh64_load(&h->slot->word) == h->word) {
		(void)lhi_lock_settle(&lh->v, h->slot, now, 0, &w);
	} else if (h->shared && (lhi_lease_current(lh, l, h, st) ||
	    lhi_lease_in_motion(lh, l, h, st))) {
		if (now >= lhi_deadline_ns(&lh->v, state_deadline(st)) &&
		    lhi_claim_mark(&lh->v, h->claim, l->id[0], st, ST_EXPIRED,
		    state_deadline(st)) == 0)
			lhi_counters_add(&lh->v, STAT_EXPIRED_OWN, 1);
		seq = state_seq(st);
		st = sh64_load(&h->claim->state);
		if (state_st(st) == ST_EXPIRED && state_seq(st) == seq)
			(void)lhi_readers_leave(&lh->v, h->slot, h->ci,
			    state_seq(st), false);
	}
	/* the deadline that had passed may be one of before */
	st = sh64_load(&h->claim->state);
	return lhi_lease_now(lh, l, h, st) != LEASE_OVER &&
	    !lhi_lease_orphaned(lh, l) ? LEASE_LIVES : lhi_lease_lost(lh, h);
}

int
lhi_lease_enforce(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h)
{
	return lhi_cluster_check_of(h) ? lhi_lease_settle(lh, l, h) :
	    lhi_cluster_check_lost(lh, l, h);
}

int
lhi_lease_verify(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h)
{
	uint64_t st;

	if (!lhi_cluster_check_of(h)) /* cluster_check.c, I1: before the rest */
		return lhi_cluster_check_lost(lh, l, h);
	st = sh64_load(&h->claim->state);
	if ((!lhi_lease_current(lh, l, h, st) &&
	    !lhi_lease_in_motion(lh, l, h, st)) ||
	    !word_grants(h) ||
	    lhi_now_ns(&lh->v) >= lhi_deadline_ns(&lh->v, state_deadline(st)))
		return lhi_lease_enforce(lh, l, h);
	/* a named session's end, after the last look at word and claim, too */
	return lhi_lease_orphaned(lh, l) ? lhi_lease_lost(lh, h) : 0;
}

int
lhi_lease_told(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h)
{
	return lhi_cluster_check_needed(lh, h->slot)
		   ? lhi_lease_verify(lh, l, h)
		   : 0;
}

int
lh_verify(struct lh *lh, const struct lh_lease *l)
{
	struct lhi_held h;
	int error = lhi_lease_check(lh, l, &h);

	if (error == -EALREADY)
		return lhi_fail(-ESTALE, "this lease was released");
	if (error != 0)
		return error;
	do
		error = lhi_lease_verify(lh, l, &h);
	while (error == LEASE_LIVES);
	return error;
}
