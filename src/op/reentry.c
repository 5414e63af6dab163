/* SPDX-License-Identifier: MIT */
/*
 * Counted re-entry.  It answers the question: does this holder have that key
 * already?  acquire_options.c and src/live call it.
 *
 * A holder is a name of up to 255 bytes that the caller chooses, known to this
 * process and attachment only.  Nothing of it is in shared memory.  For the
 * table there is one lease, which ends when it was released as often as it was
 * acquired, or when it is lost.
 *
 * Layout.  There is one hold for each key and holder.  Holds are found by
 * these, and by their lease's claim.  lhi_proc_lock() protects all of it, and
 * is never held during a call into the table.
 *
 *	ACQUIRING	one thread tries or waits; other threads of the same
 *			holder look again now and then, within their own time
 *	HELD		lease and count
 *
 * A hold is no proof.  Its lease is verified before it is returned again, and a
 * hold whose lease is lost is dropped.  The last release drops the hold before
 * it frees the key, so nobody enters a lease that is about to end.  While a
 * thread of this attachment converts the lease, other threads look again
 * later.  A change that another attachment has made (of a named session's
 * lease) is not reported here: for this attachment the lease is lost.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/error.h"
#include "base/hash.h"
#include "op/reentry.h"
#include "op/lease_check.h"
#include "op/cluster_check.h"
#include "proc/claim_cache.h"
#include "shm/damaged.h"

#define BUCKETS 256u
#define NAP_NS (NS_PER_MS / 2)

struct hold {
	struct hold *next;		/* by key and holder */
	struct hold *lease_next;	/* by claim; HELD only */
	uint64_t hash;			/* of both */
	uint32_t count;			/* 0: ACQUIRING */
	uint32_t moving;		/* threads that are converting it */
	struct lh_lease lease;
	size_t key_len;
	char names[];			/* key, holder; each with its NUL */
};

struct lhi_holds {
	struct hold *named[BUCKETS];
	struct hold *leased[BUCKETS];
};

static uint64_t
hash_of_hold(const struct lhi_key_name *n, const char *holder)
{
	return n->hash * 31 + lhi_hash(holder, strlen(holder));
}

static struct hold **
lease_bucket(struct lh *lh, uint64_t id)
{
	return &lh->holds->leased[lid_claim(id) % BUCKETS];
}

/* Under the lock, as all from here to set_held(). */
static struct hold *
find_hold(struct lh *lh, uint64_t hash, const struct lhi_key_name *n,
    const char *holder)
{
	struct hold *h = lh->holds->named[hash % BUCKETS];

	while (h != NULL && (h->hash != hash || h->key_len != n->len ||
	    memcmp(h->names, n->key, n->len) != 0 ||
	    strcmp(h->names + n->len + 1, holder) != 0))
		h = h->next;
	return h;
}

static struct hold *
find_hold_of_lease(struct lh *lh, uint64_t id)
{
	struct hold *h = lh->holds == NULL ? NULL : *lease_bucket(lh, id);

	while (h != NULL && h->lease.id[1] != id)
		h = h->lease_next;
	return h;
}

static void
unlink_lease(struct lh *lh, struct hold *h)
{
	struct hold **p = lease_bucket(lh, h->lease.id[1]);

	while (*p != h)
		p = &(*p)->lease_next;
	*p = h->lease_next;
}

static void
drop_hold(struct lh *lh, struct hold *h)
{
	struct hold **p = &lh->holds->named[h->hash % BUCKETS];

	if (h->count != 0)
		unlink_lease(lh, h);
	while (*p != h)
		p = &(*p)->next;
	*p = h->next;
	free(h);
}

/*
 * True if its claim is in another use by now: then it will not be asked for
 * again.  (Not if it is being converted: lhi_reentry_replace_lease() follows
 * when that is done.)
 */
static bool
is_hold_over(struct lh *lh, const struct hold *h)
{
	uint64_t id = h->lease.id[1];
	uint64_t now = lhi_claim_cache_id(&lh->v, lid_claim(id));

	return h->count != 0 && now != id &&
	    (now != lid_make(lid_claim(id), lid_epoch(id),
	    lid_seq(id) + CONVERT_STEP) || lhi_mutant_on(moving_is_over));
}

static void
drop_ended_holds(struct lh *lh, uint64_t hash)
{
	struct hold *h, *next;

	/* ends: the list is this process's own */
	for (h = lh->holds->named[hash % BUCKETS]; h != NULL; h = next) {
		next = h->next;
		if (is_hold_over(lh, h))
			drop_hold(lh, h);
	}
}

static struct hold *
add_hold(struct lh *lh, uint64_t hash, const struct lhi_key_name *n,
    const char *holder)
{
	size_t len = strlen(holder) + 1;
	struct hold *h = calloc(1, sizeof(*h) + n->len + 1 + len);

	drop_ended_holds(lh, hash);
	if (h == NULL)
		return NULL;
	h->hash = hash;
	h->key_len = n->len;
	memcpy(h->names, n->key, n->len);
	memcpy(h->names + n->len + 1, holder, len);
	h->next = lh->holds->named[hash % BUCKETS];
	lh->holds->named[hash % BUCKETS] = h;
	return h;
}

static void
set_held(struct lh *lh, struct hold *h, const struct lh_lease *lease)
{
	struct hold **p = lease_bucket(lh, lease->id[1]);

	h->lease = *lease;
	h->count = 1;
	h->lease_next = *p;
	*p = h;
}

/* Returns the state of the holder at that key. */
enum known { NOTHING, WAITING_FOR, HAS, NO_MEMORY };

/* ... if there is none, it is ACQUIRING from now on. */
static enum known
look_up_hold(struct lh *lh, uint64_t hash, const struct lhi_key_name *name,
    const char *holder, struct lh_lease *lease)
{
	enum known known = NOTHING;
	struct hold *h;

	lhi_proc_lock();
	if (lh->holds == NULL)
		__atomic_store_n(&lh->holds, calloc(1,
		    sizeof(*lh->holds)), __ATOMIC_RELAXED);
	h = lh->holds == NULL ? NULL : find_hold(lh, hash, name, holder);
	if (h != NULL && h->count != 0) {
		*lease = h->lease;
		known = HAS;
	} else if (h != NULL) {
		known = WAITING_FOR;
	} else if (lh->holds == NULL ||
	    add_hold(lh, hash, name, holder) == NULL) {
		known = NO_MEMORY;
	}
	lhi_proc_unlock();
	return known;
}

/*
 * Checks that it is held.  Returns 0, and its end, which was right in that use
 * of the claim, and under that right, because it is held after that; -errno as
 * lh_verify().
 */
static int
verify_lease(struct lh *lh, struct lh_lease *lease)
{
	struct lhi_held h;
	uint32_t n = 0;
	int error = lhi_lease_check(lh, lease, &h);

	if (error != 0)
		return error;
	do {
		lease->expires_ns = lhi_cluster_check_end_ns(&h,
		    lhi_ends_ns(&lh->v, sh64_load(&h.claim->state)));
		error = lhi_lease_verify(lh, lease, &h);
		if (lhi_mutant_on(end_of_another))
			lease->expires_ns = lhi_ends_ns(&lh->v,
			    sh64_load(&h.claim->state));
	} while (error == LEASE_LIVES && LHI_WITHIN(n, LHI_SWAPS_MAX));
	return error != LEASE_LIVES ? error :
	    lhi_damaged_restless(&lh->v, "a lease", h.ci);
}

/*
 * True if it is not held as it was because a thread of this attachment is
 * converting it, and has not yet reported that here
 * (lhi_reentry_replace_lease()).
 */
static bool
is_moving(struct lh *lh, const struct lh_lease *lease)
{
	struct hold *h;
	bool moving;

	lhi_proc_lock();
	h = find_hold_of_lease(lh, lease->id[1]);
	moving = h != NULL && (h->moving != 0 || lhi_mutant_on(always_moving));
	lhi_proc_unlock();
	return moving;
}

/* Enters the lease, which was seen to be held until then, again.  Returns false
 * if it is just gone. */
static bool
enter_again(struct lh *lh, struct lh_lease *lease)
{
	int64_t expires_ns = lease->expires_ns;
	struct hold *h;
	bool there;

	lhi_proc_lock();
	h = find_hold_of_lease(lh, lease->id[1]);
	there = h != NULL && h->count != UINT32_MAX;
	if (there) {
		h->count++;
		*lease = h->lease;
		lease->expires_ns = expires_ns;
	}
	lhi_proc_unlock();
	return there;
}

static void
forget_lease(struct lh *lh, uint64_t id)
{
	struct hold *h;

	lhi_proc_lock();
	h = find_hold_of_lease(lh, id);
	if (h != NULL)
		drop_hold(lh, h);
	lhi_proc_unlock();
}

void
lhi_reentry_finish(struct lh *lh, const struct lhi_key_name *name,
    const char *holder, const struct lh_lease *lease)
{
	struct hold *h;

	lhi_proc_lock();
	h = find_hold(lh, hash_of_hold(name, holder), name, holder);
	if (lease != NULL)
		set_held(lh, h, lease);
	else
		drop_hold(lh, h);
	lhi_proc_unlock();
}

/* Acquires by fn; others of this holder wait for the result. */
static int
acquire_first(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *lease,
    lhi_acquire_fn *fn)
{
	int cancel, error;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	error = fn(lh, want, ask, lease);
	lhi_reentry_finish(lh, want->name, ask->more->holder,
	    error == 0 ? lease : NULL);
	(void)pthread_setcancelstate(cancel, NULL);
	return error;
}

static int
wait_for_hold(struct lh *lh, const struct lhi_acquire_request *ask)
{
	const struct timespec ts = { 0, NAP_NS };

	if (ask->try_only)
		return lhi_fail(-EAGAIN, "this holder is just waiting for the "
		    "key in another thread");
	if (lhi_cancel_is_set(ask->cancel))
		return lhi_fail(-ECANCELED, "the wait was cancelled");
	if (lhi_now_ns(&lh->v) >= ask->until_ns)
		return lhi_fail(-ETIMEDOUT, "this holder waits for the key in "
		    "another thread, and has not got it in time");
	(void)nanosleep(&ts, NULL);
	return ask->callback != NULL &&
	    lhi_now_ns(&lh->v) >= ask->callback->at_ns ?
	    ask->callback->run(ask->callback) : 0;
}

int
lhi_reentry_enter(struct lh *lh, const struct lhi_key_name *name,
    const struct lhi_acquire_request *ask, struct lh_lease *lease)
{
	uint64_t hash = hash_of_hold(name, ask->more->holder);
	struct lh_lease has;
	int error;

	/* ends: each round forgets a lease of this process that is lost, or
	 * met one that another thread released meanwhile */
	for (;;) {
		switch (look_up_hold(lh, hash, name, ask->more->holder, &has)) {
		case NO_MEMORY:
			return lhi_fail(-ENOMEM, "out of memory");
		case NOTHING:
			return HOLDER_NEW;
		case WAITING_FOR:
			return HOLDER_WAITS;
		case HAS:
			break;
		}
		error = verify_lease(lh, &has);
		if (error != 0 && error != -ESTALE)
			return error;
		if (error != 0 && !lhi_mutant_on(never_moving) &&
		    is_moving(lh, &has))
			return HOLDER_WAITS;
		if (error != 0) {
			forget_lease(lh, has.id[1]);
			continue;
		}
		if ((has.mode == LH_SHARED) != ask->shared)
			return lhi_fail(-EDEADLK, "this very holder has the "
			    "key in the other mode: convert the lease, or "
			    "release it first");
		if (enter_again(lh, &has)) {
			*lease = has;
			return 0;
		}
	}
}

int
lhi_reentry_acquire(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *lease,
    lhi_acquire_fn *fn)
{
	int found, error;

	/* ends: at the caller's deadline or cancel, wait_for_hold() */
	while ((found = lhi_reentry_enter(lh, want->name, ask, lease)) ==
	    HOLDER_WAITS) {
		error = wait_for_hold(lh, ask);
		if (error != 0)
			return error;
	}
	return found != HOLDER_NEW ? found :
	    acquire_first(lh, want, ask, lease, fn);
}

bool
lhi_reentry_leave(struct lh *lh, struct lh_lease *l)
{
	struct hold *h;
	bool stays = false;

	if (lhi_own(lh) != 0 || l == NULL || !lhi_lease_is_live(l) ||
	    __atomic_load_n(&lh->holds, __ATOMIC_RELAXED) == NULL)
		return false;
	lhi_proc_lock();
	h = find_hold_of_lease(lh, l->id[1]);
	if (h != NULL && h->lease.token == l->token &&
	    h->lease.id[0] == l->id[0]) {
		stays = --h->count != 0;
		if (!stays) {
			h->count = 1;
			drop_hold(lh, h);
		}
	}
	lhi_proc_unlock();
	if (stays)
		l->opaque = LEASE_RELEASED;
	return stays;
}

void
lhi_reentry_set_moving(struct lh *lh, uint64_t id, bool begins)
{
	struct hold *h;

	if (__atomic_load_n(&lh->holds, __ATOMIC_RELAXED) == NULL)
		return;
	lhi_proc_lock();
	h = find_hold_of_lease(lh, id);
	if (h != NULL && begins)
		h->moving++;
	else if (h != NULL && h->moving > 0)
		h->moving--;
	lhi_proc_unlock();
}

void
lhi_reentry_replace_lease(struct lh *lh, uint64_t id, const struct lh_lease *to)
{
	struct hold **p, *h;

	if (__atomic_load_n(&lh->holds, __ATOMIC_RELAXED) == NULL)
		return;
	lhi_proc_lock();
	h = find_hold_of_lease(lh, id);
	if (h != NULL) {
		unlink_lease(lh, h);
		h->lease = *to;
		h->moving = 0;	/* the others have come too late */
		p = lease_bucket(lh, to->id[1]);
		h->lease_next = *p;
		*p = h;
	}
	lhi_proc_unlock();
}

void
lhi_reentry_end(struct lh *lh)
{
	struct hold *h;

	for (unsigned i = 0; lh->holds != NULL && i < BUCKETS; i++) {
		while ((h = lh->holds->named[i]) != NULL) {
			lh->holds->named[i] = h->next;
			free(h);
		}
	}
	free(lh->holds);
}
