/* SPDX-License-Identifier: MIT */
/*
 * The fast path of acquire: one announcement, one swap, one reading of the
 * coarse clock.
 *
 * 1. The claim is announced with a deadline that counts from the last tick that
 *    this thread saw.
 * 2. The swap of the lock word makes claim, token and deadline valid at once
 *    (crash rows A1 to A3).
 * 3. The coarse clock is read, once.
 *
 * If the clock still shows that tick, the deadline was computed from a reading
 * no older than the tick.  The TTL is at least 100 ms here, so far more than 50
 * ms of the lease are left.  So the lease has not expired (guarantee G3),
 * however long the thread was stopped in between.  If the clock shows a later
 * tick, the deadline is moved, or the grant given back.
 *
 * The code between the two swaps of an acquire and a release, and its jumps,
 * are most of the cost of the pair; see doc/performance.md.  The swap itself is
 * in acquire_straight.h, because key_lock.c and others have it as well.
 *
 * Every unusual case (contention, an unclean end, a token at its ceiling, an
 * empty claim cache, a forked child, rare options) is left to the slow path,
 * with nothing changed.
 */
#include <errno.h>
#include <string.h>
#include "base/error.h"
#include "op/token_ceiling.h"
#include "op/acquire_straight.h"
#include "op/acquire_target.h"
#include "proc/claim_cache.h"
#include "shm/readers.h"
#include "shm/claim_record.h"
#include "shm/events.h"
#include "shm/wait_queue.h"
#include "shm/counters.h"

/* Prepares the claim cache for another TTL. */
static __attribute__((noinline, cold)) void
set_ttl(struct lhi_claim_cache *m, int64_t ttl_ms)
{
	struct timespec ts;

	lhi_coarse(&ts);
	lhi_claim_cache_tick(m, &ts, ttl_ms);
}

/* Completes a grant after the clock has advanced a tick: moves its deadline.  A
 * grant that is past its deadline is given back, and the acquire takes the slow
 * path. */
static __attribute__((noinline, cold)) int
catch_up_deadline(struct lhi_claim_cache *m, struct lhi_cached_claim *r,
    const struct timespec *ts, struct lhi_acquire_target *want,
    const struct lh_acquire_opts *opts, struct lh_lease *l)
{
	struct shm_claim *c = &m->claims[r - m->rec];
	struct shm_slot *s = r->slot;
	uint64_t st = sh64_load(&c->state), later;
	bool held;

	lhi_claim_cache_tick(m, ts, m->ttl_ms);
	later = state_make(ST_HELD, state_seq(st), state_deadline(m->held));
	held = state_st(st) == ST_HELD &&
	    lhi_now_ns(&m->lh->v) < l->expires_ns &&
	    sh64_cas(&c->state, st, later);	/* claim #7; else it was expired
						 * (claim #6) */
	lhi_point("acquire.caught_up");
	if (held && lhi_now_ns(&m->lh->v) < l->expires_ns) {
		sh64_store_rlx(&c->since, m->since);
		l->expires_ns = m->expires_ns;
		lhi_claim_cache_log(m, LH_LOG_GRANTED, false, s,
		    lid_claim(r->id), l->token, 0);
		return 0;
	}
	lhi_counters_spent(&m->lh->v);
	(void)sh64_cas(&c->state, held ? later : st, state_make(ST_EXPIRED,
	    state_seq(st), 0));
	if (sh64_cas(&s->word, word_make(WORD_X, lid_claim(r->id), l->token),
	    word_make(WORD_FREE, CAUSE_RELEASED, l->token)) &&
	    link_idx(sh64_load_sc(&s->waitq)) != 0)
		lhi_queue_wake_first(&m->lh->v, s);
	/* reclaimed when the group has no free claim */
	lhi_cached_claim_set(r, CACHED_OUT);
	return lhi_acquire_slow(m->lh, want, opts, l);
}

/* The word had changed: makes the claim free again (claim #4). */
__attribute__((noinline, cold)) void
lhi_acquire_retract(struct lhi_claim_cache *m, struct lhi_cached_claim *r)
{
	r->id++;
	lhi_cached_claim_forget(r);	/* its limit does not apply any more */
	sh64_store(&m->claims[r - m->rec].state, state_make(ST_FREE, r->id, 0));
	lhi_counters_spent(&m->lh->v);
}

/* Fills in the granted lease, and what its release will need. */
static inline __attribute__((always_inline)) void
fill_lease(struct lhi_claim_cache *m, struct lhi_cached_claim *r, uint64_t id,
    uint64_t token, uint64_t slot_ref, struct lh_lease *l)
{
	r->id = id;
	r->token = token;
	lhi_claim_cache_lease(m, slot_ref, l);
	l->id[1] = id;
	l->token = token;
	l->expires_ns = m->expires_ns;
}

/* As lhi_acquire_usual() below, without knowledge of the word.  Returns true if
 * granted, with *l filled in; false if nothing has changed. */
static bool
take_word(struct lhi_claim_cache *m, struct lhi_cached_claim *r,
    struct lhi_ref ref, struct lh_lease *l, struct timespec *ts)
{
	struct shm_claim *c = &m->claims[r - m->rec];
	struct shm_slot *s = ref.slot;
	uint64_t w = sh64_load(&s->word), q = sh64_load(&s->waitq);
	uint64_t hint = sh64_load_rlx(&s->hint), id = r->id + 1;
	uint64_t token = token_of(hint, word_ver(w) + 1);

	if ((w & WORD_LOW) != word_make(WORD_FREE, CAUSE_RELEASED, 0) ||
	    (lhi_queue_stops(q) && !lhi_queue_yields(&m->lh->v, q)) ||
	    lhi_view_retired(&m->lh->v) ||	/* table_revoke.c, I2 */
	    sh32_load_rlx(&s->gen) != ref.slot_ref >> 32 ||
	    token - hint > TOKEN_LAG_MAX || token >= m->ceiling ||
	    token < m->first || lid_seq(id) == 0 || lhi_mutant_on(use_number))
		return false;
	sh64_store_rlx(&c->slot_ref, ref.slot_ref);
	sh64_store_rlx(&c->since, m->since);
	lhi_claim_cache_set_key(m, r, s, ref.slot_ref, LH_EXCLUSIVE);
	sh64_store(&c->state, state_make(ST_HELD, id,
	    state_deadline(m->held)));				/* claim #1 */
	lhi_point("acquire.announced");
	if (!sh64_cas(&s->word, w, w + FREE_TO_X + r->held_low)) {
		lhi_acquire_retract(m, r);
		return false;
	}
	lhi_point("acquire.granted");
	fill_lease(m, r, id, token, ref.slot_ref, l);
	lhi_cached_claim_set(r, CACHED_HELD);
	lhi_cached_claim_limit(m, r);
	if (unlikely(link_idx(q) != 0))
		lhi_counters_add(&m->lh->v, STAT_BARGES, 1);
	lhi_coarse(ts);
	return true;
}

/* Returns a free claim of m's group, or NULL. */
static inline struct lhi_cached_claim *
pick_claim(struct lhi_claim_cache *m)
{
	for (unsigned b = 0; b < SHM_GROUP; b++) {
		if (lhi_cached_claim_now(&m->rec[b]) == CACHED_FREE)
			return &m->rec[b];
	}
	return NULL;
}

static inline bool
has_plain_opts(const struct lh_acquire_opts *o)
{
	return o->size == sizeof(*o) && ((o->mode | o->scope) & ~1u) == 0 &&
	    (o->flags & ~LH_NO_CREATE) == 0 && !o->cancel && !o->more &&
	    o->ttl_ms >= FAST_TTL_MIN_MS && o->ttl_ms <= LH_TTL_MAX_MS &&
	    o->max_wait_ms >= 0 && o->deadline_ns >= 0;
}

/* True if scope local can be granted at once: every token must be in a range of
 * this table (a revived reader may have an earlier one), and the ranges must be
 * on disk. */
static bool
is_local_ready(const struct lh *lh, const struct lhi_ref *ref,
    const struct lh_acquire_opts *o)
{
	return lhi_durable(&lh->v) && (o == NULL || o->mode == LH_EXCLUSIVE) &&
	    lhi_slot_local(ref) && !atomic_load_explicit(&lh->v.ranges_lost,
	    memory_order_relaxed);
}

/* The fast path with options, or with another claim than the first. */
static inline __attribute__((always_inline)) enum lhi_how
acquire_at_once(struct lh *lh, struct lhi_ref ref,
    const struct lh_acquire_opts *opts, struct lh_lease *lease)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	int64_t ttl_ms = opts == NULL ? DEFAULT_TTL_MS : opts->ttl_ms;
	struct lhi_cached_claim *r;
	struct timespec ts;

	if (m->lh != lh || (opts != NULL && !has_plain_opts(opts)) ||
	    ((lh->v.all_local || (opts != NULL && opts->scope == LH_LOCAL)) &&
	    !is_local_ready(lh, &ref, opts)))
		return UNTOUCHED;
	if (unlikely(ttl_ms != m->ttl_ms)) {
		set_ttl(m, ttl_ms);
		if (m->watched)
			return UNTOUCHED;
	}
	if (opts != NULL && opts->mode == LH_SHARED)
		return lhi_acquire_shared(m, ref.slot, ref.slot_ref, lease);
	r = pick_claim(m);
	if (r == NULL || !take_word(m, r, ref, lease, &ts))
		return UNTOUCHED;
	if (opts != NULL && opts->scope == LH_LOCAL)
		m->local_home = ref.slot_ref;
	return lhi_is_same_tick(m, &ts) ? GRANTED : LATE;
}

/* Completes an acquire that the fast path did not complete. */
__attribute__((noinline)) int
lhi_acquire_rest(struct lh *lh, enum lhi_how how,
    struct lhi_acquire_target *want, const struct lh_acquire_opts *opts,
    struct lh_lease *lease)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct lhi_cached_claim *r;
	struct timespec ts;

	if (how != LATE)
		return lhi_acquire_slow(lh, want, opts, lease);
	r = &m->rec[lid_claim(lease->id[1]) - m->base];
	if (r->use == CACHED_SHARED)
		return lhi_acquire_shared_late(m, r, want, opts, lease);
	lhi_coarse(&ts);
	return catch_up_deadline(m, r, &ts, want, opts, lease);
}

int
lhi_acquire(struct lh *lh, struct lhi_acquire_target *want,
    const struct lh_acquire_opts *opts, struct lh_lease *lease)
{
	enum lhi_how how = acquire_at_once(lh, want->ref, opts, lease);

	return how == GRANTED ? 0 :
	    lhi_acquire_rest(lh, how, want, opts, lease);
}

/* Completes an acquire of an opened key that the fast path did not complete. */
__attribute__((noinline)) int
lhi_key_acquire_rest(struct lh_key *k, enum lhi_how how, struct lhi_ref ref,
    const struct lh_acquire_opts *opts, struct lh_lease *lease)
{
	struct lhi_key_name n = { k->name, strlen(k->name), k->hash };
	struct lhi_acquire_target want = { ref, &n };
	int error = lhi_acquire_rest(k->lh, how, &want, opts, lease);

	if (want.ref.slot_ref != ref.slot_ref)
		__atomic_store_n(&k->slot_ref, want.ref.slot_ref,
		    __ATOMIC_RELAXED);
	return error;
}

/* Gives the claim that was just granted the key the mark of the handle, if the
 * straight paths may use it from now on. */
static inline void
give_mark(struct lh_key *k, uint64_t slot_ref, const struct lh_lease *l)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct lhi_cached_claim *r = &m->rec[READER_CLAIM];
	uint64_t mark = __atomic_load_n(&k->mark, __ATOMIC_RELAXED);

	if (l->mode == LH_SHARED) {
		if (r->id == l->id[1] && r->use == CACHED_SHARED)
			r->mark = mark;
	} else if (lhi_claim_0_may_stay(k, slot_ref)) {
		m->rec[0].mark = mark;
		m->marked = k;
	}
}

/* Acquires an opened key, whose slot was `ref` when it was read, without what
 * the claim cache remembers of it. */
__attribute__((noinline)) int
lhi_key_acquire_at_once(struct lh_key *k, struct lhi_ref ref,
    const struct lh_acquire_opts *opts, struct lh_lease *lease)
{
	enum lhi_how how = acquire_at_once(k->lh, ref, opts, lease);

	if (how != GRANTED)
		return lhi_key_acquire_rest(k, how, ref, opts, lease);
	give_mark(k, ref.slot_ref, lease);
	return 0;
}
