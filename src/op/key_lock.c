/* SPDX-License-Identifier: MIT */
/*
 * Opened keys that keep their own lease: lh_key_lock(), lh_key_unlock() and
 * lh_key_lease().
 *
 * A thread's hold of a handle is in one of two places.
 *
 *	claim 0		if it has the handle's odd mark and is held
 *			(proc/attachment.h): nothing else is stored, so the pair
 *			fills no lease, and the unlock has nothing to compare
 *			but the mark
 *	cache.holds	otherwise: a list with the leases
 *
 * When claim 0 loses its mark while it is held, the hold moves to the list
 * (lhi_key_holds_unmark()).  The memory for that is taken before claim 0 gets
 * the mark.  A hold belongs to the thread: another thread's claim cache does
 * not have it.  The lease is one like others, and may be lost like others.
 *
 * A crash or stop leaves what it leaves in acquire.c and release.c: the same
 * words are written in the same order.
 */
#include <errno.h>
#include <stdlib.h>
#include "base/error.h"
#include "op/acquire_straight.h"
#include "op/key_lock.h"
#include "op/release.h"
#include "proc/key_holds.h"
#include "shm/claim_record.h"

/* True if claim 0 of the thread's current cache is that handle's hold. */
static inline bool
is_held_by_claim_0(const struct lhi_claim_cache *m, const struct lh_key *k)
{
	return m->rec[0].mark == __atomic_load_n(&k->lock_mark,
	    __ATOMIC_RELAXED) && (m->rec[0].word & WORD_IS_X);
}

/* Returns the link to the handle's hold in the list, or to NULL. */
static struct lhi_key_hold **
find_hold(struct lhi_claim_cache *m, const struct lh_key *k)
{
	struct lhi_key_hold **p = &m->holds;

	while (*p != NULL && (*p)->mark != k->lock_mark)
		p = &(*p)->next;
	return p;
}

/* True if claim 0 has the mark of a handle, for lh_key_lock(). */
static inline bool
has_lock_mark(const struct lhi_claim_cache *m)
{
	return m->rec[0].mark != NO_MARK && (m->rec[0].mark & 1);
}

/* Keeps a lease that this thread was just granted by the handle. */
static int
keep_lease(struct lh_key *k, const struct lh_lease *l)
{
	struct lhi_claim_cache *m = lhi_claim_cache_get(k->lh);
	bool stays = m != NULL && lhi_claim_0_may_stay(k, k->slot_ref) &&
	    l->notes == 0 && m->rec[0].id == l->id[1];
	/* while claim 0 has a mark, the spare is for the hold that it has */
	bool is_spared = m != NULL && (stays || !has_lock_mark(m) ||
	    lhi_mutant_on(spare_taken));
	struct lhi_key_hold *h = is_spared ? m->spare : NULL;
	struct lh_lease lease = *l;

	if (m != NULL && h == NULL)
		h = malloc(sizeof(*h));
	if (h == NULL) {
		(void)lh_release(k->lh, &lease);
		return lhi_fail(-ENOMEM, "out of memory");
	}
	if (stays) {
		m->spare = h;
		m->rec[0].mark = k->lock_mark;
		/* not to be acquired otherwise while it has that mark */
		if (!lhi_mutant_on(lock_is_found))
			m->rec[0].slot_ref = 0;
		m->marked = k;
		return 0;
	}
	if (is_spared)
		m->spare = NULL;
	h->mark = k->lock_mark;
	h->lease = lease;
	h->next = m->holds;
	m->holds = h;
	return 0;
}

/* Finds the thread's claim cache for that handle.  Returns it, or NULL with
 * -EINVAL (NULL, closed), -EPERM (inherited), -ENOMEM or -EUCLEAN in *error. */
static struct lhi_claim_cache *
find_cache(struct lh_key *k, int *error)
{
	struct lhi_claim_cache *m;

	*error = k == NULL ? lhi_fail(-EINVAL, "no key was given (NULL)") :
	    lhi_own(k->lh);
	if (*error != 0)
		return NULL;
	m = lhi_claim_cache_get(k->lh);
	if (m == NULL)
		*error = lhi_claim_cache_fail();
	return m;
}

/* Locks with options, or if claim 0 does not have the handle's mark, or is
 * held. */
static NOIPA int
lock_other(struct lh_key *k, const struct lh_acquire_opts *opts)
{
	int error;
	struct lhi_claim_cache *m = find_cache(k, &error);
	struct lh_lease l;

	if (m == NULL)
		return error;
	if ((is_held_by_claim_0(m, k) || *find_hold(m, k) != NULL) &&
	    !lhi_mutant_on(locks_twice))
		return lhi_fail(-EALREADY, "this thread has locked the key "
		    "'%s' already: unlock it first", k->name);
	error = lh_key_acquire(k, opts, &l);
	return error != 0 ? error : keep_lease(k, &l);
}

/* The swap of the straight path was not made, or only just; claim 0 has the
 * handle's mark. */
static NOIPA int
lock_rest(struct lh_key *k, enum lhi_how how)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct timespec ts;
	struct lh_lease l;
	int error;

	if (how == UNTOUCHED && m->over_all != 0) {
		how = lhi_swap_over_all(m);
		lhi_coarse(&ts);
		if (how == GRANTED && lhi_is_same_tick(m, &ts))
			return 0;
		how = how == GRANTED ? LATE : how;
	}
	if (how == UNTOUCHED)
		return lock_other(k, NULL);
	if (how == LATE)
		lhi_key_holds_lease(m, &l);
	/* not held by the handle until it is kept again */
	m->rec[0].mark = NO_MARK;
	error = lhi_key_acquire_other(k, how, NULL, &l);
	return error != 0 ? error : keep_lease(k, &l);
}

/* Completes a LATE grant; claim 0 has the handle's mark. */
static __attribute__((noinline)) int
lock_late(void)
{
	return lock_rest(lhi_claim_cache_current->marked, LATE);
}

/* Locks with policy strict, not on the straight path.  The claim may stay for
 * that if the cache is of the usual TTL, which no strict lease has set. */
static NOIPA int
lock_strict_other(struct lh_key *k, const struct lh_acquire_opts *opts)
{
	int error;
	struct lhi_claim_cache *m = find_cache(k, &error);
	struct timespec ts;

	if (m == NULL)
		return error;
	if (m->usual != k->lh && !m->watched) {
		lhi_coarse(&ts);
		lhi_claim_cache_tick(m, &ts, DEFAULT_TTL_MS);
	}
	return lock_other(k, opts);
}

/*
 * As lh_key_lock() with those options, of which only the policy, strict, is not
 * a usual one.  On the straight path nothing can be late, because there is no
 * deadline.  At a new tick the claim is remembered no longer, as that is what a
 * tick does to a claim that is held.
 */
int
lhi_key_lock_strict(struct lh_key *k, const struct lh_acquire_opts *opts)
{
	const uint64_t announce = state_make(ST_HELD, 1, DEADLINE_MAX);
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct timespec ts;
	enum lhi_how how;

	if (unlikely(m->rec[0].mark != __atomic_load_n(&k->lock_mark,
	    __ATOMIC_RELAXED)) || lhi_mutant_on(use_number))
		return lock_strict_other(k, opts);
	how = lhi_swap_announced(m, &m->rec[0], 0, &announce);
	if (unlikely(how != GRANTED)) {
		if (how == OUTDONE) {
			m->rec[0].mark = NO_MARK;
			lhi_acquire_retract(m, &m->rec[0]);
		}
		return lock_strict_other(k, opts);
	}
	lhi_coarse(&ts);
	if (unlikely(!lhi_is_same_tick(m, &ts))) {
		lhi_claim_cache_tick(m, &ts, m->ttl_ms);
		sh64_store_rlx(&m->claims->since, m->since);
	}
	return 0;
}

int
lh_key_lock(struct lh_key *k, const struct lh_acquire_opts *opts)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct timespec ts;
	enum lhi_how how;

	if (unlikely(k == NULL) || unlikely(opts != NULL) ||
	    unlikely(m->rec[0].mark != __atomic_load_n(&k->lock_mark,
	    __ATOMIC_RELAXED)) || lhi_mutant_on(use_number))
		return lock_other(k, opts);
	how = lhi_swap_usual(m, 0);
	if (unlikely(how != GRANTED))
		return lock_rest(k, how);
	lhi_coarse(&ts);
	return likely(lhi_is_same_tick(m, &ts)) ? 0 : lock_late();
}

/* Claim 0 turns out to have lost its lease: reports how. */
static NOIPA int
unlock_lost(struct lh_key *k)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct lh_lease l;

	lhi_key_holds_lease(m, &l);
	/* reclaimed when the group has no free claim */
	lhi_cached_claim_set(&m->rec[0], CACHED_OUT);
	return lh_release(k->lh, &l);
}

/* The same, after the word was freed. */
static NOIPA int
unlock_late(struct lhi_claim_cache *m)
{
	struct lh_lease l;

	lhi_key_holds_lease(m, &l);
	lhi_cached_claim_set(&m->rec[0], CACHED_OUT);
	return lhi_release_late(m, m->rec[0].slot, &l);
}

static inline __attribute__((always_inline)) int
unlock_claim_0(struct lhi_claim_cache *m, struct lh_key *k)
{
	struct lhi_cached_claim *r = &m->rec[0];
	struct shm_claim *c = m->claims;
	struct shm_slot *s = r->slot;
	uint64_t left, q;

	left = (r->word & ~WORD_LOW) |
	    word_make(WORD_FREE, CAUSE_RELEASED, 0);
	if (unlikely(!sh64_cas(&s->word, r->word, left)))
		return unlock_lost(k);
	lhi_point("release.word_freed");
	if (unlikely(!state_held(sh64_load_rlx(&c->state))))
		return unlock_late(m);
	sh64_store(&c->state, r->id << SEQ_SHIFT);		/* claim #5 */
	r->word = left;
	/* pairs with: queue insert, then the waiter's look at the word */
	q = sh64_load_sc(&s->waitq);
	return likely(link_idx(q) == 0) ? 0 : lhi_release_wake(m, s, q);
}

static int
fail_not_locked(const struct lh_key *k)
{
	return lhi_fail(-EINVAL, "this thread has not locked the key '%s', or "
	    "its lease was released, converted or handed over by another call",
	    k->name);
}

static NOIPA int
unlock_other(struct lh_key *k)
{
	int error;
	struct lhi_claim_cache *m = find_cache(k, &error);
	struct lhi_key_hold **p, *h;

	if (m == NULL)
		return error;
	if (is_held_by_claim_0(m, k))
		return unlock_claim_0(m, k);
	p = find_hold(m, k);
	h = *p;
	if (h == NULL)
		return fail_not_locked(k);
	*p = h->next;
	error = lh_release(k->lh, &h->lease);
	if (m->spare == NULL)
		m->spare = h;
	else
		free(h);
	return error;
}

int
lh_key_unlock(struct lh_key *k)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;

	if (unlikely(k == NULL) || unlikely(!is_held_by_claim_0(m, k)))
		return unlock_other(k);
	return unlock_claim_0(m, k);
}

int
lh_key_lease(struct lh_key *k, struct lh_lease *lease)
{
	int error;
	struct lhi_claim_cache *m = find_cache(k, &error);
	struct lhi_key_hold *h;
	struct shm_claim *c;
	uint64_t st;

	if (m == NULL)
		return error;
	if (lease == NULL)
		return lhi_fail(-EINVAL, "no lease was given to fill (NULL)");
	if (is_held_by_claim_0(m, k)) {
		lhi_key_holds_lease(m, lease);
		return 0;
	}
	h = *find_hold(m, k);
	if (h == NULL)
		return fail_not_locked(k);
	*lease = h->lease;
	/* it may have been extended */
	c = lhi_claim(&k->lh->v, lid_claim(h->lease.id[1]));
	st = c == NULL ? 0 : sh64_load(&c->state);
	if (state_held(st) && state_seq(st) == lid_seq(h->lease.id[1]) &&
	    state_deadline(st) != DEADLINE_MAX)
		lease->expires_ns = lhi_deadline_ns(&k->lh->v,
		    state_deadline(st));
	return 0;
}
