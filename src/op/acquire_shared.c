/* SPDX-License-Identifier: MIT */
/*
 * Readers: acquiring and releasing in shared mode.
 *
 * There are two fast ways in.  A claim that this thread left idle in the chain
 * of this very key is revived by one swap of its own line; the lock word, which
 * all readers share, is only read.  Otherwise the claim is pushed, as in
 * exclusive mode: announcement, then one swap of the word.
 *
 * The token is the push's, also for a revived reader: the claim has been in the
 * chain ever since, so no exclusive grant can have come between (shm/readers.c,
 * I3).
 *
 * Three ways out.  The only reader frees the word.  One of several stays in the
 * chain, idle, if nobody waits and no writer came lately; else it leaves: ends
 * its claim, marks it, and takes out what has ended at the head.
 *
 * Idle and queue: a release makes its claim IDLE, then looks at the queue; a
 * waiter queues, then looks at the chain, and revokes who is idle there
 * (Dekker: each read-modify-writes before it looks).  So either the waiter has
 * seen the reader idle, or the reader sees the waiter, and leaves and wakes it.
 *
 * Who finds the lease in another use than he acquired it in goes the slow way:
 * another thread may be trying to convert it, perhaps in vain, and then the
 * lease lives, and is released all the same (op/release.c).
 *
 * A crash or stop after the idling swap is an idle reader, which anyone
 * revokes; after the ending one, a terminal claim, which anyone takes out.
 */
#include <errno.h>
#include "base/error.h"
#include "op/token_ceiling.h"
#include "op/lease_check.h"
#include "proc/claim_cache.h"
#include "shm/readers.h"
#include "shm/claim_record.h"
#include "shm/events.h"
#include "shm/lock_word.h"
#include "shm/wait_queue.h"
#include "shm/counters.h"

static inline bool
queue_empty(struct shm_slot *s)
{
	/* pairs with: queue insert, then the waiter's look at the word */
	return link_idx(sh64_load_sc(&s->waitq)) == 0;
}

static inline void
fill(struct lhi_claim_cache *m, struct lhi_cached_claim *r, struct lh_lease *l)
{
	m->shared++;
	r->use = CACHED_SHARED;
	lhi_pair_store(l, m->head);
	l->mode = LH_SHARED;
	l->id[1] = r->id;
	l->token = r->token;
	lhi_pair_store(&l->acquired_ns, m->span);
	l->key = r->slot_ref;
}

/* A claim left idle in the chain of that key: take it up again. */
static inline __attribute__((always_inline)) bool
revive(struct lhi_claim_cache *m, struct lhi_cached_claim *r, struct lh_lease
    *l)
{
	struct shm_claim *c = &m->claims[r - m->rec];
	uint64_t id = r->id + 1;

	if (lid_seq(id) == 0 || !queue_empty(r->slot))
		return false;
	if (unlikely(lhi_reader_revived(c, lid_seq(id)) >= REVIVED_MAX) ||
	    !sh64_cas(&c->state, state_make(ST_IDLE, r->id, 0),
	    state_make(ST_READ, id, state_deadline(m->held)))) {	/* 13 */
		r->use = CACHED_OUT;	/* revoked, or too often */
		m->idle &= ~(1u << (r - m->rec));
		return false;
	}
	lhi_point("shared.revived");
	r->id = id;
	fill(m, r, l);
	return true;
}

/* Join whoever reads, or take a free key.  False: nothing has changed. */
static inline __attribute__((always_inline)) bool
push(struct lhi_claim_cache *m, struct lhi_cached_claim *r, struct shm_slot *s,
    uint64_t slot_ref, struct lh_lease *l)
{
	struct shm_claim *c = &m->claims[r - m->rec];
	uint32_t head = 0;
	uint64_t w = sh64_load(&s->word), hint = sh64_load_rlx(&s->hint);
	uint64_t token = token_of(hint, word_ver(w) + 1), id = r->id + 1;

	if (word_mode(w) == WORD_S)
		head = word_idx(w);
	else if ((w & WORD_LOW) != word_make(WORD_FREE, CAUSE_RELEASED, 0))
		return false;
	if (!queue_empty(s) || sh32_load_rlx(&s->gen) != slot_ref >> 32 ||
	    token - hint > TOKEN_LAG_MAX || token >= m->ceiling ||
	    token < m->first || lid_seq(id) == 0 || lhi_mutant_on(use_number))
		return false;
	sh64_store_rlx(&c->slot_ref, slot_ref);
	sh64_store_rlx(&c->since, m->since);
	sh64_store_rlx(&c->grant, lhi_reader_grant(word_ver(w) + 1, id));
	lhi_readers_prepare(c, head);
	sh64_store(&c->state, state_make(ST_READ, id,
	    state_deadline(m->held)));				/* 1 */
	lhi_point("shared.announced");
	r->id = id;
	r->slot_ref = 0;
	/* mode and idx of X(this claim), and one bit more */
	if (unlikely(!sh64_cas(&s->word, w, (word_ver(w) + 1) << VER_SHIFT |
	    word_make(WORD_S, 0, 0) | r->held_low))) {
		sh64_store(&c->state, state_make(ST_FREE, id, 0));	/* 4 */
		lhi_counters_spent(&m->lh->v);
		return false;
	}
	lhi_point("shared.granted");
	r->slot_ref = slot_ref;
	r->slot = s;
	r->token = token;
	fill(m, r, l);
	return true;
}

/* One of the claims that were left idle, if it is in that key's chain. */
static __attribute__((noinline)) bool
revive_one(struct lhi_claim_cache *m, uint64_t slot_ref, struct lh_lease *l)
{
	for (uint32_t idle = m->idle; idle != 0; idle &= idle - 1) {
		struct lhi_cached_claim *r =
		    &m->rec[__builtin_ctz(idle) % SHM_GROUP];

		if (r->use == CACHED_IDLE && r->slot_ref == slot_ref &&
		    revive(m, r, l))
			return true;
	}
	return false;
}

enum lhi_how
lhi_shared_join(struct lhi_claim_cache *m, struct shm_slot *s,
    uint64_t slot_ref, struct lh_lease *l)
{
	struct lhi_cached_claim *r = m->rec;
	struct timespec ts;

	if (m->idle != 0) {
		r = &m->rec[__builtin_ctz(m->idle)];
		if (likely(r->slot_ref == slot_ref) &&
		    likely(r->use == CACHED_IDLE) && likely(revive(m, r, l)))
			goto granted;
		if (revive_one(m, slot_ref, l))
			goto granted;
		r = m->rec;
	}
	while (unlikely(r->use != CACHED_FREE)) {
		if (++r == &m->rec[SHM_GROUP])
			return UNTOUCHED;
	}
	if (!push(m, r, s, slot_ref, l))
		return UNTOUCHED;
granted:
	lhi_coarse(&ts);
	return likely(ts.tv_nsec == m->tick_nsec) &&
	    likely(ts.tv_sec == m->tick_sec) ? GRANTED : LATE;
}

/* The clock shows a later tick than the deadline was counted from. */
int
lhi_shared_join_late(struct lhi_claim_cache *m, struct lhi_cached_claim *r,
    struct lhi_acquire_target *want, const struct lh_acquire_opts *opts,
    struct lh_lease *l)
{
	uint32_t ci = m->base + (uint32_t)(r - m->rec);
	struct shm_claim *c = &m->claims[r - m->rec];
	uint64_t st = sh64_load(&c->state), later;
	struct timespec ts;
	bool held;

	lhi_coarse(&ts);
	lhi_claim_cache_tick(m, &ts, m->ttl_ms);
	later = state_make(ST_READ, state_seq(st), state_deadline(m->held));
	held = state_st(st) == ST_READ &&
	    lhi_now_ns(&m->lh->v) < l->expires_ns &&
	    sh64_cas(&c->state, st, later);	/* 7; or it was expired (6) */
	lhi_point("shared.caught_up");
	if (held && lhi_now_ns(&m->lh->v) < l->expires_ns) {
		sh64_store_rlx(&c->since, m->since);
		lhi_pair_store(&l->acquired_ns, m->span);
		lhi_claim_cache_log(m, LH_LOG_GRANTED, true, r->slot, ci,
		    l->token, 0);
		return 0;
	}
	lhi_counters_spent(&m->lh->v);
	m->shared--;
	do	/* in motion, too, to and fro: by who found it by status */
		st = sh64_load(&c->state);
	while (state_held(st) && !sh64_cas(&c->state, st,
	    state_make(ST_EXPIRED, state_seq(st), 0)));
	(void)lhi_readers_leave(&m->lh->v, r->slot, ci, state_seq(st), false);
	r->use = CACHED_OUT;	/* taken back when the group runs out */
	return lhi_acquire_slow(m->lh, want, opts, l);
}

/* Is l the reader's lease that r remembers? */
static struct lhi_cached_claim *
remembered(struct lh *lh, struct lhi_claim_cache *m, const struct lh_lease *l)
{
	uint32_t bit = lid_claim(l->id[1]) - m->base;
	struct lhi_cached_claim *r;

	if (m->lh != lh || bit >= SHM_GROUP)
		return NULL;
	r = &m->rec[bit];
	return r->use == CACHED_SHARED && r->id == l->id[1] &&
	    r->token == l->token && l->id[0] == lhi_claim_cache_sid(m) &&
	    l->opaque == LEASE_LIVE && r->slot_ref == l->key ? r : NULL;
}

/*
 * Out of the chain: from HELD, or IDLE, in use seq.  False: it had ended.
 */
static bool
leave(struct lhi_view *v, struct shm_slot *s, uint32_t ci, unsigned from,
    uint64_t seq)
{
	struct shm_claim *c = &v->claims[ci];
	uint64_t st;

	do {
		st = sh64_load(&c->state);
		if (state_kind(st) != from || state_seq(st) != seq)
			return false;
	} while (!sh64_cas(&c->state, st, state_make(ST_REVOKED, seq, 0)));
	lhi_point("shared.revoked");				/* 14, 15 */
	(void)lhi_readers_leave(v, s, ci, seq, !queue_empty(s));
	return true;
}

/* The word is free, and the lease had been ended, or somebody waits. */
static __attribute__((noinline)) int
freed_late(struct lhi_view *v, struct shm_slot *s, uint64_t left, uint64_t st)
{
	if (!state_held(st) && state_st(st) != ST_REVOKED)
		(void)sh64_cas(&s->word, left, word_make(WORD_FREE,
		    CAUSE_EXPIRED, word_ver(left)));
	lhi_queue_wake_first(v, s);
	return state_held(st) ? 1 : -ESTALE;
}

/*
 * The only reader frees the word, in the thread that alone could use the claim
 * again: so a store will do for the claim.  1 done; 0 there are others;
 * -ESTALE: it had ended, though the key was not free.
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
	/* the word first, then the claim (C3) */
	st = sh64_load(&c->state);
	if (state_st(st) != ST_READ || state_seq(st) != lid_seq(r->id))
		return -ESTALE;
	left = (w & ~WORD_LOW) | word_make(WORD_FREE, CAUSE_RELEASED, 0);
	if (!sh64_cas(&s->word, w, left))
		return 0;
	lhi_point("shared.word_freed");
	st = sh64_load(&c->state);
	if (likely(state_held(st)))
		sh64_store(&c->state, state_make(ST_FREE, r->id, 0));	/* 5 */
	return likely(state_held(st)) && likely(queue_empty(s)) ? 1 :
	    freed_late(&m->lh->v, s, left, st);
}

/*
 * Stay in the chain, idle: if nobody waits, no writer came lately, and no copy
 * of the lease was converted elsewhere (G11).  False: nothing has changed.
 */
static inline __attribute__((always_inline)) bool
go_idle(struct lhi_claim_cache *m, struct lhi_cached_claim *r)
{
	struct shm_claim *c = &m->claims[r - m->rec];
	uint64_t st = sh64_load(&c->state);

	if (!queue_empty(r->slot) || sh32_load_rlx(&r->slot->pause_ms) != 0 ||
	    word_mode(sh64_load(&r->slot->word)) != WORD_S ||
	    state_st(st) != ST_READ || state_seq(st) != lid_seq(r->id) ||
	    !sh64_cas(&c->state, st, state_make(ST_IDLE, r->id, 0))) /* 12 */
		return false;
	lhi_point("shared.idle");
	r->use = CACHED_IDLE;
	m->idle |= 1u << (r - m->rec);
	return true;
}

/* It went idle, and somebody has come to wait. */
static __attribute__((noinline)) void
leave_idle(struct lhi_claim_cache *m, struct lhi_cached_claim *r)
{
	if (leave(&m->lh->v, r->slot, m->base + (uint32_t)(r - m->rec),
	    ST_IDLE, lid_seq(r->id)))
		r->use = CACHED_OUT;
}

/* From HELD, or what somebody who is converting it has made of that.  False: it
 * had ended. */
static bool
leave_in_motion(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h)
{
	struct shm_claim *c = h->claim;
	uint64_t st;

	do {
		st = sh64_load(&c->state);
		if (!lhi_lease_current(lh, l, h, st) &&
		    !lhi_lease_in_motion(lh, l, h, st))
			return false;
	} while (!sh64_cas(&c->state, st,
	    state_make(ST_REVOKED, state_seq(st), 0)));
	lhi_point("shared.revoked");				/* 15 */
	(void)lhi_readers_leave(&lh->v, h->slot, h->ci, state_seq(st),
	    !queue_empty(h->slot));
	return true;
}

/* By any other thread, or with a request id. */
int
lhi_release_reader(struct lh *lh, struct lh_lease *l)
{
	struct lhi_held h;
	int error = lhi_lease_check(lh, l, &h);

	if (error != 0)
		return error == -EALREADY ? 0 : error;
	/* another thread may present the same lease, and the owner use the
	 * claim again: so the claim first, by a swap; the word follows */
	if (!leave_in_motion(lh, l, &h))
		return lhi_lease_lost(lh, &h);
	l->opaque = LEASE_RELEASED;
	lhi_lease_ended(lh, l, &h);
	return 0;
}

static __attribute__((noinline)) int
release_foreign(struct lh *lh, struct lh_lease *l)
{
	return lhi_release_rare(lh, l, lhi_release_reader);
}

/* By the thread that acquired it, when it was not the only reader. */
static __attribute__((noinline)) int
release_beside(struct lhi_claim_cache *m, struct lhi_cached_claim *r, struct
    lh_lease *l)
{
	struct timespec ts = { 0, 0 };

	if (sh32_load_rlx(&r->slot->pause_ms) != 0)
		lhi_coarse(&ts);
	if (!lhi_readers_paused(r->slot, lhi_timespec_ns(&ts)) &&
	    go_idle(m, r)) {
		l->opaque = LEASE_RELEASED;
		if (!queue_empty(r->slot))
			leave_idle(m, r);
		return 0;
	}
	r->use = CACHED_OUT;
	if (word_mode(sh64_load(&r->slot->word)) != WORD_S ||
	    !leave(&m->lh->v, r->slot, m->base + (uint32_t)(r - m->rec),
	    ST_READ, lid_seq(r->id)))
		return release_foreign(m->lh, l);
	l->opaque = LEASE_RELEASED;
	return 0;
}

/* All but the straight path below. */
static __attribute__((noinline)) int
release_other(struct lh *lh, struct lh_lease *l)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct lhi_cached_claim *r = remembered(lh, m, l);
	int freed;

	if (unlikely(r == NULL))
		return release_foreign(lh, l);
	freed = free_word(m, r);
	if (freed == 0)
		return release_beside(m, r, l);
	r->slot_ref = 0;
	if (unlikely(freed < 0)) {
		r->use = CACHED_OUT;
		return release_foreign(lh, l);
	}
	r->use = CACHED_FREE;
	l->opaque = LEASE_RELEASED;
	return 0;
}

/* Claim 0 went idle, and somebody has come to wait. */
static __attribute__((noinline)) int
release_waited_for(struct lhi_claim_cache *m)
{
	leave_idle(m, &m->rec[0]);
	return 0;
}

/* free_word() has answered. */
static __attribute__((noinline)) int
release_freed(struct lhi_claim_cache *m, int freed, struct lh_lease *l)
{
	if (freed == 0)
		return release_beside(m, &m->rec[0], l);
	m->rec[0].slot_ref = 0;
	m->rec[0].use = CACHED_OUT;
	return release_foreign(m->lh, l);
}

/*
 * The straight path: claim 0 frees the word, or beside other readers goes idle;
 * a constant claim and nothing kept over a call, as in acquire.
 */
int
lhi_release_shared(struct lh *lh, struct lh_lease *l)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct lhi_cached_claim *r = &m->rec[0];
	struct shm_slot *s = r->slot;
	int freed;

	if (r->use != CACHED_SHARED || m->lh != lh || r->id != l->id[1] ||
	    r->token != l->token || l->id[0] != lhi_claim_cache_sid(m) ||
	    l->opaque != LEASE_LIVE || r->slot_ref != l->key)
		return release_other(lh, l);
	if (((sh64_load(&s->word) ^ r->held_low) & MASK(CLAIM_BITS)) == 0 &&
	    lhi_readers_ends(m->claims)) {
		freed = free_word(m, r);
		if (unlikely(freed != 1))
			return release_freed(m, freed, l);
		r->slot_ref = 0;
		r->use = CACHED_FREE;
		l->opaque = LEASE_RELEASED;
		return 0;
	}
	if (unlikely(!go_idle(m, r)))
		return release_beside(m, r, l);
	l->opaque = LEASE_RELEASED;
	return queue_empty(s) ? 0 : release_waited_for(m);
}
