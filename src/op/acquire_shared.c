/* SPDX-License-Identifier: MIT */
/*
 * Acquiring in shared mode on the fast path; acquire.c calls it.  (Releasing:
 * release_shared.c.)
 *
 * There are two fast ways.  A claim that this thread left idle in the chain of
 * the same key is revived by one swap of the claim's own line; the lock word,
 * which all readers share, is only read.  Otherwise the claim is pushed, as in
 * exclusive mode: announcement, then one swap of the word.
 *
 * A revived reader has the token of its push.  The claim has been in the chain
 * ever since, so no exclusive grant can have come in between (shm/readers.c,
 * I3).
 *
 * A crash or stop after the announcement leaves a claim that no chain names,
 * which is normal and is reclaimed with its session.  After the swap it leaves
 * a reader, until its deadline or death.
 */
#include "op/acquire.h"
#include "op/token_ceiling.h"
#include "proc/claim_cache.h"
#include "shm/damaged.h"
#include "shm/claim_record.h"
#include "shm/counters.h"
#include "shm/events.h"
#include "shm/readers.h"
#include "shm/wait_queue.h"

static inline void
fill_lease(struct lhi_claim_cache *m, struct lhi_cached_claim *r,
    struct lh_lease *l)
{
	m->shared++;
	r->use = CACHED_SHARED;
	r->word = m->held + lhi_reader_state(r->id);
	lhi_claim_cache_lease(m, r->slot_ref, l);
	l->mode = LH_SHARED;
	l->id[1] = r->id;
	l->token = r->token;
	l->expires_ns = m->expires_ns;
}

/* Revives a claim that was left idle in the chain of that key. */
static inline __attribute__((always_inline)) bool
revive_claim(struct lhi_claim_cache *m, struct lhi_cached_claim *r,
    struct lh_lease *l)
{
	struct shm_claim *c = &m->claims[r - m->rec];
	uint64_t id = r->id + 1;

	if (lid_seq(id) == 0 || !lhi_queue_is_empty(r->slot))
		return false;
	if (unlikely(lhi_reader_revived(c, lid_seq(id)) >= REVIVED_MAX) ||
	    !sh64_cas(&c->state, state_make(ST_IDLE, r->id, 0),
	    /* claim #13 */
	    m->held + lhi_reader_state(id))) {
		r->use = CACHED_OUT;	/* revoked, or revived too often */
		m->idle &= ~(1u << (r - m->rec));
		return false;
	}
	lhi_point("shared.revived");
	r->id = id;
	fill_lease(m, r, l);
	return true;
}

/* Joins the readers, or takes a free key.  Returns false if nothing has
 * changed. */
static inline __attribute__((always_inline)) bool
push_claim(struct lhi_claim_cache *m, struct lhi_cached_claim *r,
    struct shm_slot *s, uint64_t slot_ref, struct lh_lease *l)
{
	struct shm_claim *c = &m->claims[r - m->rec];
	uint32_t head = 0;
	uint64_t w = sh64_load(&s->word), hint = sh64_load_rlx(&s->hint);
	uint64_t token = token_of(hint, word_ver(w) + 1), id = r->id + 1;

	if (word_mode(w) == WORD_S)
		head = word_idx(w);
	else if ((w & WORD_LOW) != word_make(WORD_FREE, CAUSE_RELEASED, 0))
		return false;
	if (!lhi_queue_is_empty(s) ||
	    lhi_view_retired(&m->lh->v) ||	/* table_revoke.c, I2 */
	    sh32_load_rlx(&s->gen) != slot_ref >> 32 ||
	    token - hint > TOKEN_LAG_MAX || token >= m->ceiling ||
	    token < m->first || lid_seq(id) == 0 || lhi_mutant_on(use_number))
		return false;
	sh64_store_rlx(&c->slot_ref, slot_ref);
	sh64_store_rlx(&c->since, m->since);
	sh64_store_rlx(&c->grant, lhi_reader_grant(word_ver(w) + 1, id));
	lhi_readers_prepare(c, head);
	sh64_store(&c->state, state_make(ST_READ, id,
	    state_deadline(m->held)));				/* claim #1 */
	lhi_point("shared.announced");
	r->id = id;
	r->limit = 0;
	lhi_cached_claim_forget(r);
	/* mode and idx of X(this claim), plus one bit */
	if (unlikely(!sh64_cas(&s->word, w, (word_ver(w) + 1) << VER_SHIFT |
	    word_make(WORD_S, 0, 0) | r->held_low))) {
		/* claim #4 */
		sh64_store(&c->state, state_make(ST_FREE, id, 0));
		lhi_counters_spent(&m->lh->v);
		return false;
	}
	lhi_point("shared.granted");
	lhi_claim_cache_set_key(m, r, s, slot_ref, LH_SHARED);
	r->token = token;
	fill_lease(m, r, l);
	return true;
}

/* Revives one of the thread's idle claims, if it is in that key's chain. */
static __attribute__((noinline)) bool
revive_idle_claim(struct lhi_claim_cache *m, uint64_t slot_ref,
    struct lh_lease *l)
{
	/* ends: each round clears a bit of the copy of m->idle */
	for (uint32_t idle = m->idle; idle != 0; idle &= idle - 1) {
		struct lhi_cached_claim *r =
		    &m->rec[__builtin_ctz(idle) % SHM_GROUP];

		if (r->use == CACHED_IDLE && r->slot_ref == slot_ref &&
		    revive_claim(m, r, l))
			return true;
	}
	return false;
}

/* Returns a free claim, rather not claim 0: exclusive leases are faster with
 * that one. */
static __attribute__((noinline)) struct lhi_cached_claim *
find_free_claim(struct lhi_claim_cache *m)
{
	/* the straight path knows this one: back at once, if it was revoked */
	if (m->group != NULL && m->rec[READER_CLAIM].use == CACHED_OUT &&
	    lhi_claim_reclaim(&m->lh->v, m->base + READER_CLAIM, false)) {
		lhi_claim_cache_put(m, READER_CLAIM);
		return &m->rec[READER_CLAIM];
	}
	for (unsigned b = 2; b <= SHM_GROUP; b++)
		if (lhi_cached_claim_now(&m->rec[b % SHM_GROUP]) == CACHED_FREE)
			return &m->rec[b % SHM_GROUP];
	return NULL;
}

enum lhi_how
lhi_acquire_shared(struct lhi_claim_cache *m, struct shm_slot *s,
    uint64_t slot_ref, struct lh_lease *l)
{
	struct lhi_cached_claim *r;
	struct timespec ts;

	if (m->idle != 0) {
		r = &m->rec[__builtin_ctz(m->idle)];
		if (likely(r->slot_ref == slot_ref) &&
		    likely(r->use == CACHED_IDLE) &&
		    likely(revive_claim(m, r, l)))
			goto granted;
		if (revive_idle_claim(m, slot_ref, l))
			goto granted;
	}
	r = &m->rec[READER_CLAIM];
	if (unlikely(lhi_cached_claim_now(r) != CACHED_FREE) &&
	    (r = find_free_claim(m)) == NULL)
		return UNTOUCHED;
	/* (use 0 begins a new epoch, and the slow path announces it) */
	if (!push_claim(m, r, s, slot_ref, l))
		return UNTOUCHED;
granted:
	lhi_coarse(&ts);
	return likely(ts.tv_nsec == m->tick_nsec) &&
	    likely(ts.tv_sec == m->tick_sec) ? GRANTED : LATE;
}

/* The clock has advanced a tick since the deadline was computed. */
int
lhi_acquire_shared_late(struct lhi_claim_cache *m, struct lhi_cached_claim *r,
    struct lhi_acquire_target *want, const struct lh_acquire_opts *opts,
    struct lh_lease *l)
{
	uint32_t ci = m->base + (uint32_t)(r - m->rec);
	struct shm_claim *c = &m->claims[r - m->rec];
	uint64_t st = sh64_load(&c->state), later;
	struct timespec ts;
	uint32_t n = 0;
	bool held;

	lhi_coarse(&ts);
	lhi_claim_cache_tick(m, &ts, m->ttl_ms);
	later = state_make(ST_READ, state_seq(st), state_deadline(m->held));
	held = state_st(st) == ST_READ &&
	    lhi_now_ns(&m->lh->v) < l->expires_ns &&
	    sh64_cas(&c->state, st, later);	/* claim #7; else it was expired
						 * (claim #6) */
	lhi_point("shared.caught_up");
	if (held && lhi_now_ns(&m->lh->v) < l->expires_ns) {
		r->word = later;
		sh64_store_rlx(&c->since, m->since);
		l->expires_ns = m->expires_ns;
		lhi_claim_cache_log(m, LH_LOG_GRANTED, true, r->slot, ci,
		    l->token, 0);
		return 0;
	}
	lhi_counters_spent(&m->lh->v);
	m->shared--;
	do	/* also while another thread converts the lease to and fro */
		st = lhi_mutant_on(late_reader_once) ? held ? later : st :
		    sh64_load(&c->state);
	while (state_held(st) && !sh64_cas(&c->state, st,
	    state_make(ST_EXPIRED, state_seq(st), 0)) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX) &&
	    !lhi_mutant_on(late_reader_once));
	if (LHI_REACHED(n, LHI_SWAPS_MAX))
		return lhi_damaged_restless(&m->lh->v, "the state of a claim",
		    ci);
	(void)lhi_readers_leave(&m->lh->v, r->slot, ci, state_seq(st), false);
	/* reclaimed when the group has no free claim */
	lhi_cached_claim_set(r, CACHED_OUT);
	return lhi_acquire_slow(m->lh, want, opts, l);
}
