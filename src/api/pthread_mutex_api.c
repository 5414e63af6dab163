/* SPDX-License-Identifier: MIT */
/*
 * lh_mutex_lock() and its like: mutexes with the results of POSIX threads.  See
 * leasehold/pthread.h.
 *
 * `state` and `count` of a mutex belong to its holder, who alone writes them.
 *
 *	state	READY
 *		DIRTY	a robust mutex's last holder did not unlock it, and
 *			nobody has called lh_mutex_consistent() yet
 *		LOST	it was unlocked in state DIRTY: ENOTRECOVERABLE
 *	count	of a recursive mutex: further locks of its holder
 *
 * A holder that dies leaves them as they are.  The next one sets them anew,
 * except LOST. That a robust mutex was not unlocked is known from its key
 * (LH_ROBUST), not from these.
 *
 * The robust mutexes that a thread has locked are listed, and broken when it
 * ends.  The key then has the note for the next holder.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include "api/pthread_key.h"
#include "base/error.h"

enum { READY, DIRTY, LOST };

#define TYPE_MASK 0xffu

/* A robust mutex that this thread locks, or has locked. */
struct robust {
	struct robust *next;
	uint64_t id;
	struct lh_lease lease;	/* token 0: not yet */
};

static __thread struct robust *robust_held;
static pthread_key_t thread_end;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;
static bool has_thread_end;

/* Breaks what the ending thread has not unlocked.  (It may have no holds any
 * more: the order in which a thread's data ends is not known.) */
static void
break_held(void *arg)
{
	struct lhi_pthread_key k;
	struct robust *r;

	(void)arg;
	/* ends: the thread's own list */
	while ((r = robust_held) != NULL) {
		robust_held = r->next;
		if (r->lease.token != 0 && lhi_pthread_find(&r->id, &k) == 0) {
			(void)lh_break(k.lh, lh_key_name(k.key), r->lease.id,
			    r->lease.token);
			(void)lhi_pthread_unlock(&k);
			lhi_pthread_put(&k);
		}
		free(r);
	}
}

static void
make_thread_end(void)
{
	has_thread_end = pthread_key_create(&thread_end, break_held) == 0;
}

/* Lists a robust mutex before it is locked. */
static int
list_robust(uint64_t id)
{
	struct robust *r;

	(void)pthread_once(&thread_end_once, make_thread_end);
	r = has_thread_end ? malloc(sizeof(*r)) : NULL;
	if (r == NULL || pthread_setspecific(thread_end, &thread_end) != 0) {
		free(r);
		return -lhi_fail(-ENOMEM, "out of memory, or of keys of "
		    "pthread_key_create()");
	}
	r->id = id;
	r->lease.token = 0;
	r->next = robust_held;
	robust_held = r;
	return 0;
}

static void
unlist_robust(uint64_t id)
{
	struct robust **p = &robust_held, *r;

	while ((r = *p) != NULL && r->id != id)
		p = &r->next;
	if (r == NULL)
		return;
	*p = r->next;
	free(r);
}

static bool
is_robust(const lh_mutex_t *m)
{
	return m->kind & LH_MUTEX_ROBUST_BIT;
}

static int
check(const lh_mutex_t *m)
{
	if (m == NULL)
		return -lhi_fail(-EINVAL, "no mutex was given (NULL)");
	if (m->kind & ~(LH_MUTEX_ROBUST_BIT | TYPE_MASK) ||
	    (m->kind & TYPE_MASK) > PTHREAD_MUTEX_ADAPTIVE_NP)
		return -lhi_fail(-EINVAL, "not a mutex, or a destroyed one");
	return 0;
}

int
lh_mutex_init(lh_mutex_t *m, const lh_mutexattr_t *attr)
{
	lh_mutex_t made = LH_MUTEX_INITIALIZER;

	if (m == NULL)
		return -lhi_fail(-EINVAL, "no mutex was given (NULL)");
	if (attr != NULL && (attr->type < 0 || attr->type >
	    PTHREAD_MUTEX_ADAPTIVE_NP || attr->robust < 0 || attr->robust >
	    PTHREAD_MUTEX_ROBUST))
		return -lhi_fail(-EINVAL, "unknown attributes of a mutex");
	if (attr != NULL)
		made.kind = (uint32_t)attr->type | (attr->robust ==
		    PTHREAD_MUTEX_ROBUST ? LH_MUTEX_ROBUST_BIT : 0);
	made.id = lhi_pthread_id();
	*m = made;
	return 0;
}

int
lh_mutex_destroy(lh_mutex_t *m)
{
	int error = check(m);

	if (error == 0)
		error = lhi_pthread_destroy(m->id);
	if (error == 0)
		m->kind = LHI_PTHREAD_ENDED;
	return error;
}

static uint32_t
state_of(const lh_mutex_t *m)
{
	return __atomic_load_n(&m->state, __ATOMIC_ACQUIRE);
}

static void
set_state(lh_mutex_t *m, uint32_t state)
{
	__atomic_store_n(&m->state, state, __ATOMIC_RELEASE);
}

static int
fail_lost(void)
{
	return -lhi_fail(-ENOTRECOVERABLE, "the mutex was unlocked before it "
	    "was declared consistent: destroy it and initialise it anew");
}

/* Counts another lock by the holder of a recursive mutex. */
static int
lock_again(lh_mutex_t *m)
{
	if (m->count == UINT32_MAX)
		return -lhi_fail(-EAGAIN, "locked too often");
	m->count++;
	return 0;
}

/* Looks after a grant at what the last holder left. */
static int
enter(lh_mutex_t *m, struct lhi_pthread_key *k)
{
	struct lh_lease l;

	m->count = 0;
	if (!is_robust(m))
		return 0;
	if (state_of(m) == LOST) {
		unlist_robust(m->id);
		(void)lhi_pthread_unlock(k);
		return fail_lost();
	}
	if (lh_key_lease(k->key, &l) != 0)
		l.notes = 0;
	else
		robust_held->lease = l;	/* the last listed */
	set_state(m, l.notes & LH_NOTE_INCONSISTENT ? DIRTY : READY);
	return l.notes & LH_NOTE_INCONSISTENT ? EOWNERDEAD : 0;
}

static int
lock_found(lh_mutex_t *m, struct lhi_pthread_key *k,
    const struct lhi_pthread_wait *w)
{
	uint32_t type = m->kind & TYPE_MASK;
	uint32_t flags = (is_robust(m) ? LH_ROBUST : 0) |
	    (type == PTHREAD_MUTEX_ERRORCHECK ? 0 : LH_NO_DEADLOCK);
	int error = is_robust(m) ? list_robust(m->id) : 0;

	if (error != 0)
		return error;
	error = lhi_pthread_lock(k, w, LH_EXCLUSIVE, flags);
	if (error == 0)
		return enter(m, k);
	if (is_robust(m))
		unlist_robust(m->id);
	if (error == EDEADLK && type == PTHREAD_MUTEX_RECURSIVE)
		return lock_again(m);
	return error == EDEADLK && w->try ? EBUSY : error;
}

static int
lock_until(lh_mutex_t *m, const struct lhi_pthread_wait *w)
{
	struct lhi_pthread_key k;
	int error = check(m);

	if (error == 0 && is_robust(m) && state_of(m) == LOST)
		error = fail_lost();
	if (error == 0)
		error = lhi_pthread_find(&m->id, &k);
	if (error != 0)
		return error;
	error = lock_found(m, &k, w);
	lhi_pthread_put(&k);
	return error;
}

int
lh_mutex_lock(lh_mutex_t *m)
{
	return lock_until(m, &(const struct lhi_pthread_wait){ 0 });
}

int
lh_mutex_trylock(lh_mutex_t *m)
{
	return lock_until(m, &(const struct lhi_pthread_wait){ .try = true });
}

int
lh_mutex_clocklock(lh_mutex_t *m, clockid_t clock,
    const struct timespec *until)
{
	if (until == NULL)
		return -lhi_fail(-EINVAL, "no moment was given (NULL)");
	return lock_until(m, &(const struct lhi_pthread_wait){ .clock = clock,
	    .until = until });
}

int
lh_mutex_timedlock(lh_mutex_t *m, const struct timespec *until)
{
	return lh_mutex_clocklock(m, CLOCK_REALTIME, until);
}

/* Finds the key of a mutex that this thread has locked.  EPERM if not. */
static int
find_held(lh_mutex_t *m, struct lhi_pthread_key *k, struct lh_lease *l)
{
	int error = check(m);

	if (error == 0)
		error = lhi_pthread_find(&m->id, k);
	if (error != 0 || lh_key_lease(k->key, l) == 0)
		return error;
	lhi_pthread_put(k);
	return EPERM;
}

int
lh_mutex_unlock(lh_mutex_t *m)
{
	struct lhi_pthread_key k;
	struct lh_lease l;
	int error = find_held(m, &k, &l);

	if (error != 0)
		return error;
	if (m->count > 0) {
		m->count--;
	} else {
		if (is_robust(m) && state_of(m) == DIRTY)
			set_state(m, LOST);
		if (is_robust(m))
			unlist_robust(m->id);
		error = lhi_pthread_unlock(&k);
	}
	lhi_pthread_put(&k);
	return error;
}

int
lh_mutex_consistent(lh_mutex_t *m)
{
	struct lhi_pthread_key k;
	struct lh_lease l;
	int error = find_held(m, &k, &l);

	if (error == EPERM)
		return EINVAL;
	if (error != 0)
		return error;
	if (!is_robust(m) || state_of(m) != DIRTY)
		error = -lhi_fail(-EINVAL, "the mutex is not inconsistent");
	else
		error = lhi_pthread_error(lh_mark_consistent(k.lh, &l));
	if (error == 0)
		set_state(m, READY);
	lhi_pthread_put(&k);
	return error;
}

int
lh_mutex_lease(lh_mutex_t *m, struct lh_lease *lease)
{
	struct lhi_pthread_key k;
	struct lh_lease l;
	int error;

	if (lease == NULL)
		return -lhi_fail(-EINVAL, "no lease was given to fill (NULL)");
	error = find_held(m, &k, &l);
	if (error == 0) {
		*lease = l;
		lhi_pthread_put(&k);
	}
	return error;
}
