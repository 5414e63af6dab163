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
 * in acquire_straight.h, because key_lock.c has it as well.
 *
 * Every unusual case (contention, an unclean end, a token at its ceiling, an
 * empty claim cache, a forked child, rare options) is left to the slow path,
 * with nothing changed.
 *
 * (Above 500 lines: each of the straight paths is written out, see above.)
 */
#include <errno.h>
#include <string.h>
#include "base/error.h"
#include "op/token_ceiling.h"
#include "op/acquire_straight.h"
#include "op/acquire_target.h"
#include "op/cluster_acquire.h"
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
static __attribute__((noinline, cold)) void
retract_claim(struct lhi_claim_cache *m, struct lhi_cached_claim *r)
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

/* As acquire_usual() below, without knowledge of the word.  Returns true if
 * granted, with *l filled in; false if nothing has changed. */
static bool
take_word(struct lhi_claim_cache *m, struct lhi_cached_claim *r,
    const struct lhi_ref *ref, struct lh_lease *l, struct timespec *ts)
{
	struct shm_claim *c = &m->claims[r - m->rec];
	struct shm_slot *s = ref->slot;
	uint64_t w = sh64_load(&s->word), q = sh64_load(&s->waitq);
	uint64_t hint = sh64_load_rlx(&s->hint), id = r->id + 1;
	uint64_t token = token_of(hint, word_ver(w) + 1);

	if ((w & WORD_LOW) != word_make(WORD_FREE, CAUSE_RELEASED, 0) ||
	    (lhi_queue_stops(q) && !lhi_queue_yields(&m->lh->v, q)) ||
	    lhi_view_retired(&m->lh->v) ||	/* table_revoke.c, I2 */
	    sh32_load_rlx(&s->gen) != ref->slot_ref >> 32 ||
	    token - hint > TOKEN_LAG_MAX || token >= m->ceiling ||
	    token < m->first || lid_seq(id) == 0 || lhi_mutant_on(use_number))
		return false;
	sh64_store_rlx(&c->slot_ref, ref->slot_ref);
	sh64_store_rlx(&c->since, m->since);
	lhi_claim_cache_set_key(m, r, s, ref->slot_ref, LH_EXCLUSIVE);
	sh64_store(&c->state, state_make(ST_HELD, id,
	    state_deadline(m->held)));				/* claim #1 */
	lhi_point("acquire.announced");
	if (!sh64_cas(&s->word, w, w + FREE_TO_X + r->held_low)) {
		retract_claim(m, r);
		return false;
	}
	lhi_point("acquire.granted");
	fill_lease(m, r, id, token, ref->slot_ref, l);
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
acquire_at_once(struct lh *lh, const struct lhi_ref *ref,
    const struct lh_acquire_opts *opts, struct lh_lease *lease)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	int64_t ttl_ms = opts == NULL ? DEFAULT_TTL_MS : opts->ttl_ms;
	struct lhi_cached_claim *r;
	struct timespec ts;

	if (m->lh != lh || (opts != NULL && !has_plain_opts(opts)) ||
	    ((lh->v.all_local || (opts != NULL && opts->scope == LH_LOCAL)) &&
	    !is_local_ready(lh, ref, opts)))
		return UNTOUCHED;
	if (unlikely(ttl_ms != m->ttl_ms)) {
		set_ttl(m, ttl_ms);
		if (m->watched)
			return UNTOUCHED;
	}
	if (opts != NULL && opts->mode == LH_SHARED)
		return lhi_acquire_shared(m, ref->slot, ref->slot_ref, lease);
	r = pick_claim(m);
	if (r == NULL || !take_word(m, r, ref, lease, &ts))
		return UNTOUCHED;
	if (opts != NULL && opts->scope == LH_LOCAL)
		m->local_home = ref->slot_ref;
	return lhi_is_same_tick(m, &ts) ? GRANTED : LATE;
}

/* Completes an acquire that the fast path did not complete. */
static __attribute__((noinline)) int
acquire_rest(struct lh *lh, enum lhi_how how, struct lhi_acquire_target *want,
    const struct lh_acquire_opts *opts, struct lh_lease *lease)
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
	enum lhi_how how = acquire_at_once(lh, &want->ref, opts, lease);

	return how == GRANTED ? 0 : acquire_rest(lh, how, want, opts, lease);
}

/* Fills in the lease that claim 0 was just granted, and looks at the clock. */
static inline __attribute__((always_inline)) enum lhi_how
fill_straight(struct lhi_claim_cache *m, struct lh_lease *l)
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
acquire_straight(struct lhi_claim_cache *m, uint64_t kind, struct lh_lease *l)
{
	enum lhi_how how = lhi_swap_usual(m, kind);

	return unlikely(how != GRANTED) ? how : fill_straight(m, l);
}

/* The same, after a look whether claim 0 had that key last. */
static inline __attribute__((always_inline)) enum lhi_how
acquire_usual(struct lhi_claim_cache *m, const struct lh *now,
    const struct lh *lh, uint64_t slot_ref, struct lh_lease *l)
{
	if (unlikely(now != lh) || unlikely(m->rec[0].use != CACHED_FREE) ||
	    unlikely(slot_ref != m->rec[0].slot_ref) ||
	    lhi_mutant_on(use_number))
		return UNTOUCHED;
	return acquire_straight(m, 0, l);
}

/* As acquire_usual(), where tokens rise over all keys. */
static enum lhi_how
acquire_over_all(struct lhi_claim_cache *m, const struct lh *now,
    const struct lh *lh, uint64_t slot_ref, struct lh_lease *l)
{
	enum lhi_how how;

	if (m->over_all == 0 || now != lh || slot_ref != m->rec[0].slot_ref ||
	    m->rec[0].use != CACHED_FREE)
		return UNTOUCHED;
	how = lhi_swap_over_all(m);
	return unlikely(how != GRANTED) ? how : fill_straight(m, l);
}

/* Completes an acquire of an opened key that the fast path did not complete. */
static __attribute__((noinline)) int
key_acquire_rest(struct lh_key *k, enum lhi_how how, const struct lhi_ref *ref,
    const struct lh_acquire_opts *opts, struct lh_lease *lease)
{
	struct lhi_key_name n = { k->name, strlen(k->name), k->hash };
	struct lhi_acquire_target want = { *ref, &n };
	int error = acquire_rest(k->lh, how, &want, opts, lease);

	if (want.ref.slot_ref != ref->slot_ref)
		__atomic_store_n(&k->slot_ref, want.ref.slot_ref,
		    __ATOMIC_RELAXED);
	return error;
}

/* True if the options are those of the usual case: exclusive, and nothing that
 * acquire_usual() would do differently. */
static inline bool
has_usual_opts(const struct lhi_claim_cache *m, const struct lh_acquire_opts *o,
    uint64_t slot_ref)
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

/* Acquires a cluster key again, if its right is the one that was read in this
 * tick.  False: nothing is acquired. */
static __attribute__((noinline)) bool
acquire_lent(struct lh *lh, const struct lhi_ref *ref,
    const struct lh_acquire_opts *opts, struct lh_lease *lease)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct lhi_cached_claim *r = m->rec;
	enum lhi_how how;

	how = (opts != NULL ? m->lh : m->usual) != lh ||
	    lhi_mutant_on(use_number) ? UNTOUCHED :
	    acquire_straight(m, FREE_CLUSTER, lease);
	if (how == GRANTED || how == LATE)
		lhi_cached_claim_set(r, CACHED_LENT);
	if (how == GRANTED && lhi_cluster_check_lent_stands(m, lease))
		return true;
	m->lent.slot_ref = 0;
	if (how == OUTDONE)
		retract_claim(m, r);
	else if (r->use == CACHED_LENT && lh_release(lh, lease) == 0)
		lhi_counters_spent(&lh->v);
	return false;
}

/* The same by name, if that is the key that claim 0 had last. */
static bool
acquire_lent_name(struct lh *lh, const char *key,
    const struct lh_acquire_opts *opts, struct lh_lease *lease)
{
	const struct lhi_claim_cache *m = lhi_claim_cache_current;
	const struct lhi_ref ref = { m->rec[0].slot, m->lent.slot_ref };

	return m->lh == lh && m->lent.slot_ref != 0 && key != NULL &&
	    lease != NULL && lhi_cluster_check_has_lent(m, &ref) &&
	    (lhi_slot_is(ref.slot, key) || lhi_mutant_on(lent_any_name)) &&
	    (opts == NULL || has_usual_opts(m, opts, ref.slot_ref)) &&
	    acquire_lent(lh, &ref, opts, lease);
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

/* Acquires an opened key for which acquire_usual() was not tried. */
static __attribute__((noinline)) int
key_acquire_at_once(struct lh_key *k, const struct lh_acquire_opts *opts,
    struct lh_lease *lease)
{
	const struct lhi_ref ref = lhi_ref_at(&k->lh->v,
	    __atomic_load_n(&k->slot_ref, __ATOMIC_RELAXED));
	const struct lhi_claim_cache *m = lhi_claim_cache_current;
	enum lhi_how how;

	if (unlikely(k->lh == &lhi_closed_lh))
		return lhi_own(k->lh);
	if (lhi_cluster_check_has_lent(m, &ref) &&
	    (opts == NULL || has_usual_opts(m, opts, ref.slot_ref)))
		return acquire_lent(k->lh, &ref, opts, lease) ? 0 :
		    key_acquire_rest(k, UNTOUCHED, &ref, opts, lease);
	how = acquire_at_once(k->lh, &ref, opts, lease);
	if (how != GRANTED)
		return key_acquire_rest(k, how, &ref, opts, lease);
	give_mark(k, ref.slot_ref, lease);
	return 0;
}

/* The same, not on the straight path where tokens rise over all keys. */
static __attribute__((noinline)) int
key_acquire_other(struct lh_key *k, enum lhi_how how,
    const struct lh_acquire_opts *opts, struct lh_lease *lease)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	const struct lhi_ref ref = lhi_ref_at(&k->lh->v,
	    __atomic_load_n(&k->slot_ref, __ATOMIC_RELAXED));

	if (how == LATE)
		return key_acquire_rest(k, how, &ref, opts, lease);
	if (how == OUTDONE)
		retract_claim(m, &m->rec[0]);
	return key_acquire_at_once(k, opts, lease);
}

__attribute__((noinline)) int
lhi_key_acquire_other(struct lh_key *k, enum lhi_how how,
    const struct lh_acquire_opts *opts, struct lh_lease *lease)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;

	if (how == UNTOUCHED && unlikely(m->over_all != 0))
		how = acquire_over_all(m, opts != NULL ? m->lh : m->usual,
		    k->lh, __atomic_load_n(&k->slot_ref, __ATOMIC_RELAXED),
		    lease);
	if (how == UNTOUCHED)
		return key_acquire_at_once(k, opts, lease);
	return likely(how == GRANTED) ? 0 :
	    key_acquire_other(k, how, opts, lease);
}

/* Completes a LATE grant on the straight path; claim 0 has the key's mark. */
static __attribute__((noinline)) int
key_acquire_late(struct lh_lease *lease)
{
	return lhi_key_acquire_other(lhi_claim_cache_current->marked, LATE,
	    NULL, lease);
}

static __attribute__((noinline, cold)) int
fail_null(void)
{
	return lhi_fail(-EINVAL, "no key, or no lease to fill, was given "
	    "(NULL)");
}

/* Neither of the straight paths with a mark. */
static NOIPA int
key_acquire_unmarked(struct lh_key *k, const struct lh_acquire_opts *opts,
    struct lh_lease *lease)
{
	if (k == NULL || lease == NULL)
		return fail_null();
	if (k->lh == NULL)
		return lhi_own(NULL);
	if (opts == NULL)
		return lhi_key_acquire_other(k, UNTOUCHED, NULL, lease);
	return key_acquire_at_once(k, opts, lease);
}

/* Acquires with options in exclusive mode, on the straight path if they are
 * usual ones. */
static __attribute__((noinline)) int
key_acquire_opts(struct lh_key *k, const struct lh_acquire_opts *opts,
    struct lh_lease *l, struct lhi_claim_cache *m)
{
	uint64_t slot_ref = __atomic_load_n(&k->slot_ref, __ATOMIC_RELAXED);
	enum lhi_how how;

	if (unlikely(l == NULL) || unlikely(k->lh == NULL))
		return key_acquire_unmarked(k, opts, l);
	if (unlikely(!has_usual_opts(m, opts, slot_ref)))
		return key_acquire_at_once(k, opts, l);
	how = acquire_usual(m, m->lh, k->lh, slot_ref, l);
	return likely(how == GRANTED) ? 0 :
	    lhi_key_acquire_other(k, how, opts, l);
}

/* True if the options are those of a reader, and say nothing that the straight
 * path would do differently. */
static inline __attribute__((always_inline)) bool
has_reader_opts(const struct lhi_claim_cache *m,
    const struct lh_acquire_opts *o)
{
	static const uint32_t shared[2] = { LH_SHARED, LH_EPHEMERAL };
	uint64_t kind, want;

	memcpy(&kind, &o->mode, sizeof(kind));	/* mode and scope */
	memcpy(&want, shared, sizeof(want));
	return likely(kind == want ||
	    (o->mode == LH_SHARED && lhi_mutant_on(idle_in_any_scope))) &&
	    likely(o->ttl_ms == m->ttl_ms) &&
	    likely((o->max_wait_ms | o->deadline_ns | o->ttl_ms) >= 0) &&
	    likely(((o->size ^ sizeof(*o)) | (o->flags & ~LH_NO_CREATE) |
	    (uintptr_t)o->cancel | (uintptr_t)o->more) == 0);
}

/*
 * Acquires again as a reader who stayed in the chain, idle: the readers'
 * straight path.  Claim 1 has the mark of the key, so it is in that chain if it
 * is idle, and its state's swap tells.  (A release leaves it idle only if it
 * may be revived once more.)  Only the claim's own line is written.
 */
static inline __attribute__((always_inline)) enum lhi_how
revive_reader(struct lhi_claim_cache *m, struct lh_lease *l)
{
	static const lhi_pair next = { 1, 0 };
	struct lhi_cached_claim *r = &m->rec[READER_CLAIM];
	uint64_t st = m->held + lhi_reader_state(r->id + 1);
	struct timespec ts;
	lhi_pair use;

	if (/* pairs with: queue insert, then the waiter's look at the chain */
	    (unlikely(lhi_queue_stops(sh64_load_sc(&r->slot->waitq))) &&
	    !lhi_mutant_on(revived_over_writer)) ||
	    unlikely(!sh64_cas(&m->claims[READER_CLAIM].state, r->word,
	    st)))						/* claim #13 */
		return UNTOUCHED;
	lhi_point("shared.revived");
	m->shared++;
	r->use = CACHED_SHARED;
	r->word = st;
	memcpy(&use, &r->id, sizeof(use));
	use += next;					/* id and token */
	lhi_pair_store(&r->id, use);
	lhi_pair_store(l, m->head_1);
	lhi_pair_store(&l->id[1], use);
	l->expires_ns = m->expires_ns;
	lhi_coarse(&ts);
	return lhi_is_same_tick(m, &ts) ? GRANTED : LATE;
}

/* Completes a LATE grant of claim 1, which has the mark of key k. */
static __attribute__((noinline)) int
key_revive_late(struct lh_key *k, const struct lh_acquire_opts *opts,
    struct lh_lease *l)
{
	return lhi_key_acquire_other(k, LATE, opts, l);
}

/* With options, in shared mode. */
static NOIPA int
key_acquire_shared(struct lh_key *k, const struct lh_acquire_opts *opts,
    struct lh_lease *l)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct lhi_cached_claim *r = &m->rec[READER_CLAIM];
	enum lhi_how how;

	if (unlikely(l == NULL) || unlikely(r->mark !=
	    __atomic_load_n(&k->mark, __ATOMIC_RELAXED)) ||
	    unlikely(r->use != CACHED_IDLE) ||
	    unlikely(!has_reader_opts(m, opts)))
		return key_acquire_unmarked(k, opts, l);
	how = revive_reader(m, l);
	if (likely(how == GRANTED))
		return 0;
	return how == LATE ? key_revive_late(k, opts, l) :
	    key_acquire_at_once(k, opts, l);
}

int
lh_key_acquire(struct lh_key *k, const struct lh_acquire_opts *opts,
    struct lh_lease *lease)
{
	struct lhi_claim_cache *m =
	    lhi_claim_cache_current; /* first: all hangs on it */
	/* for later in memory: a register would be pushed and popped */
	struct lh_lease *volatile kept;
	enum lhi_how how;

	if (unlikely(k == NULL))
		return key_acquire_unmarked(k, opts, lease);
	if (opts != NULL)
		return opts->mode == LH_SHARED ?
		    key_acquire_shared(k, opts, lease) :
		    key_acquire_opts(k, opts, lease, m);
	if (unlikely(lease == NULL) || unlikely(m->rec[0].mark !=
	    __atomic_load_n(&k->mark, __ATOMIC_RELAXED)) ||
	    lhi_mutant_on(use_number))
		return key_acquire_unmarked(k, opts, lease);
	kept = lease;
	how = acquire_straight(m, 0, lease);
	if (likely(how == GRANTED))
		return 0;
	return how == LATE ? key_acquire_late(kept) :
	    lhi_key_acquire_other(k, how, NULL, lease);
}

/* Acquires by name: looks the key up, or makes it. */
__attribute__((noinline)) int
lhi_acquire_by_name(struct lh *lh, const char *key,
    const struct lh_acquire_opts *opts, struct lh_lease *lease)
{
	struct lhi_key_name n;
	struct lhi_acquire_target want = { .name = &n };
	struct lhi_acquire_request ask;
	int error;

	if (acquire_lent_name(lh, key, opts, lease))
		return 0;
	error = lhi_own(lh);
	if (error == 0)
		error = lhi_name_set(&n, key);
	if (error != 0)
		return error;
	if (lease == NULL)
		return lhi_fail(-EINVAL, "no lease was given to fill (NULL)");
	error = lhi_slot_find(&lh->v, &n, &want.ref);
	if (error == 0) {
		/* wrong options must not make a key */
		error = lhi_acquire_request_set(&lh->v, &ask, opts);
		if (error == 0)
			error = lhi_cluster_acquire_check_scope(lh, &ask, &n);
		if (error == 0)
			error = lhi_key_name_resolve(lh, &n,
			    opts == NULL ? 0 : opts->flags, &want.ref);
		if (error != 0)
			return error;
	}
	return error < 0 ? error : lhi_acquire(lh, &want, opts, lease);
}

/* The same for a name that this thread's claim 0 had last. */
static __attribute__((noinline)) int
name_acquire_other(struct lh *lh, enum lhi_how how, const char *key,
    struct lh_lease *lease)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct lhi_acquire_target want = {
		.ref = { m->rec[0].slot, m->rec[0].slot_ref },
	};
	struct lhi_key_name n;
	int error;

	if (how == UNTOUCHED)
		how = acquire_over_all(m, m->usual, lh, want.ref.slot_ref,
		    lease);
	if (how == GRANTED)
		return 0;
	if (how == OUTDONE)
		retract_claim(m, &m->rec[0]);
	if (how != LATE)
		return lhi_acquire_by_name(lh, key, NULL, lease);
	error = lhi_name_set(&n, key);	/* it is a slot's key: no error */
	want.name = &n;
	return error != 0 ? error : acquire_rest(lh, how, &want, NULL, lease);
}

/* Acquires by name.  Usually it is the name that this thread used last.  Then
 * the slot is known, and comparing the key is the whole lookup. */
int
lh_acquire(struct lh *lh, const char *key, const struct lh_acquire_opts *opts,
    struct lh_lease *lease)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	enum lhi_how how;

	if (unlikely(m->usual != lh) || unlikely(m->rec[0].slot_ref == 0) ||
	    unlikely(key == NULL) || unlikely(lease == NULL) ||
	    unlikely(opts != NULL) ||
	    unlikely(!lhi_slot_is(m->rec[0].slot, key)))
		return lhi_acquire_by_name(lh, key, opts, lease);
	how = acquire_usual(m, m->usual, lh, m->rec[0].slot_ref, lease);
	return likely(how == GRANTED) ? 0 :
	    name_acquire_other(lh, how, key, lease);
}
