/* SPDX-License-Identifier: MIT */
/*
 * Acquires an opened key.  The straight paths are first in what is executed:
 * exclusive without options, exclusive with usual options, and shared by a
 * reader that is in the key's chain.  Each of their unusual ends is a call of
 * a function that is not inlined, so that they keep no registers for it.
 */
#include <errno.h>
#include "base/error.h"
#include "op/acquire_straight.h"
#include "op/cluster_check.h"
#include "shm/claim_record.h"
#include "shm/readers.h"

/* Acquires an opened cluster key whose right is remembered. */
static __attribute__((noinline)) int
key_acquire_lent(struct lh_key *k, const struct lhi_ref ref,
    const struct lh_acquire_opts *opts, struct lh_lease *lease)
{
	return lhi_acquire_lent(k->lh, &ref, opts, lease) ? 0 :
	    lhi_key_acquire_rest(k, UNTOUCHED, ref, opts, lease);
}

/* Acquires an opened key without what the claim cache remembers of it, but for
 * a right to it. */
static __attribute__((noinline)) int
key_acquire_afresh(struct lh_key *k, const struct lh_acquire_opts *opts,
    struct lh_lease *lease)
{
	const struct lhi_ref ref = lhi_ref_at(&k->lh->v,
	    __atomic_load_n(&k->slot_ref, __ATOMIC_RELAXED));
	const struct lhi_claim_cache *m = lhi_claim_cache_current;

	if (unlikely(k->lh == &lhi_closed_lh))
		return lhi_own(k->lh);
	if (unlikely(lhi_cluster_check_has_lent(m, &ref)) &&
	    (opts == NULL || lhi_has_usual_opts(m, opts, ref.slot_ref)))
		return key_acquire_lent(k, ref, opts, lease);
	return lhi_key_acquire_at_once(k, ref, opts, lease);
}

/* Claim r did not get the key on its straight path, or only just (LATE). */
static __attribute__((noinline)) int
key_acquire_again_other(struct lh_key *k, enum lhi_how how,
    struct lhi_cached_claim *r, struct lh_lease *l)
{
	if (how == LATE)
		return lhi_key_acquire_rest(k, how, lhi_ref_at(&k->lh->v,
		    __atomic_load_n(&k->slot_ref, __ATOMIC_RELAXED)), NULL, l);
	if (how == OUTDONE)
		lhi_acquire_retract(lhi_claim_cache_current, r);
	return key_acquire_afresh(k, NULL, l);
}

/*
 * The straight path of a thread that holds another lease, by claim 0, without
 * options: a later claim had the key of the handle last.  Each claim of the
 * group remembers its key in the same way.
 */
static __attribute__((noinline)) int
key_acquire_again(struct lh_key *k, struct lhi_claim_cache *m,
    struct lh_lease *l)
{
	uint64_t slot_ref = __atomic_load_n(&k->slot_ref, __ATOMIC_RELAXED);
	struct lhi_cached_claim *r;
	struct timespec ts;
	enum lhi_how how;
	uint64_t head;
	lhi_pair use;

	for (r = m->rec + 1; r < m->rec + SHM_GROUP; r++)
		if (r->slot_ref == slot_ref || lhi_mutant_on(again_any_key))
			break;
	if (unlikely(r == m->rec + SHM_GROUP))
		return key_acquire_afresh(k, NULL, l);
	how = unlikely(r->use != CACHED_FREE) || lhi_mutant_on(use_number) ?
	    UNTOUCHED : lhi_swap_usual_of(m, r, 0);
	if (unlikely(how != GRANTED))
		return key_acquire_again_other(k, how, r, l);
	head = lhi_lease_head_of(slot_ref, LH_EXCLUSIVE);
	memcpy(l, &head, sizeof(head));
	l->id[0] = lhi_claim_cache_session_id(m);
	memcpy(&use, &r->id, sizeof(use));
	lhi_pair_store(&l->id[1], use);
	l->expires_ns = m->expires_ns;
	lhi_coarse(&ts);
	return likely(lhi_is_same_tick(m, &ts)) ? 0 :
	    key_acquire_again_other(k, LATE, r, l);
}

/* Acquires an opened key for which lhi_acquire_usual() was not tried. */
static __attribute__((noinline)) int
key_acquire_at_once(struct lh_key *k, const struct lh_acquire_opts *opts,
    struct lh_lease *lease)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;

	if (opts == NULL && m->usual == k->lh &&
	    lhi_cached_claim_now(&m->rec[0]) != CACHED_FREE)
		return key_acquire_again(k, m, lease);
	return key_acquire_afresh(k, opts, lease);
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
		return lhi_key_acquire_rest(k, how, ref, opts, lease);
	if (how == OUTDONE)
		lhi_acquire_retract(m, &m->rec[0]);
	return key_acquire_at_once(k, opts, lease);
}

__attribute__((noinline)) int
lhi_key_acquire_other(struct lh_key *k, enum lhi_how how,
    const struct lh_acquire_opts *opts, struct lh_lease *lease)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;

	if (how == UNTOUCHED && unlikely(m->over_all != 0))
		how = lhi_acquire_over_all(m, opts != NULL ? m->lh : m->usual,
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
	if (unlikely(!lhi_has_usual_opts(m, opts, slot_ref)))
		return key_acquire_at_once(k, opts, l);
	how = lhi_acquire_usual(m, m->lh, k->lh, slot_ref, l);
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
	how = lhi_acquire_straight(m, 0, lease);
	if (likely(how == GRANTED))
		return 0;
	return how == LATE ? key_acquire_late(kept) :
	    lhi_key_acquire_other(k, how, NULL, lease);
}
