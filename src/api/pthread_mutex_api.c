/* SPDX-License-Identifier: MIT */
/*
 * lh_mutex_lock() and its like: mutexes with the results of POSIX threads.  See
 * leasehold/pthread.h.
 *
 * The memory of a mutex says its type and which key it is, and nothing of its
 * holder.  How a robust mutex was left is known from its key.  A holder that
 * has not unlocked it leaves a note (LH_ROBUST): EOWNERDEAD.  One that unlocks
 * it while the note is there sets the key's value before, by its lease, so that
 * nobody can who has lost that: ENOTRECOVERABLE for all later ones.  One that
 * dies in between leaves the note and the value.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <leasehold/value.h>
#include "api/pthread_key.h"
#include "base/error.h"

#define TYPE_MASK 0xffu

static const char lost[] = "not recoverable";

static struct lhi_pthread_words
words(lh_mutex_t *m)
{
	return (struct lhi_pthread_words){ &m->id, &m->table };
}

static bool
is_robust(uint32_t kind)
{
	return kind & LH_MUTEX_ROBUST_BIT;
}

/* Reads the kind of a mutex.  0; EINVAL. */
static int
check(const lh_mutex_t *m, uint32_t *kind)
{
	if (m == NULL)
		return -lhi_fail(-EINVAL, "no mutex was given (NULL)");
	*kind = __atomic_load_n(&m->kind, __ATOMIC_ACQUIRE);
	if (*kind & ~(LH_MUTEX_ROBUST_BIT | TYPE_MASK) ||
	    (*kind & TYPE_MASK) > PTHREAD_MUTEX_ADAPTIVE_NP)
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
	uint32_t kind;
	int error = check(m, &kind);

	if (error == 0)
		error = lhi_pthread_destroy(words(m));
	if (error == 0)
		__atomic_store_n(&m->kind, LHI_PTHREAD_ENDED,
		    __ATOMIC_RELEASE);
	return error;
}

/* True if a holder has unlocked the mutex without declaring it consistent. */
static bool
is_lost(struct lhi_pthread_use *u)
{
	char value[LH_VALUE_MAX];
	size_t len;

	return lh_value_get(u->lh, lh_key_name(u->key), value, &len, NULL) ==
	    0 && len == sizeof(lost) && memcmp(value, lost, len) == 0;
}

/* Looks after the grant of a robust mutex at what the last holder left. */
static int
enter(struct lhi_pthread_use *u)
{
	int error = lhi_pthread_lease(u, &u->lease);

	if (error != 0)
		return error;
	u->robust = true;
	u->dirty = u->lease.notes & LH_NOTE_INCONSISTENT;
	if (!u->dirty)
		return 0;
	if (!is_lost(u))
		return EOWNERDEAD;
	(void)lhi_pthread_unlock(u);
	return -lhi_fail(-ENOTRECOVERABLE, "the mutex was unlocked before it "
	    "was declared consistent: destroy it and initialise it anew");
}

static int
lock_found(struct lhi_pthread_use *u, uint32_t kind,
    const struct lhi_pthread_wait *w)
{
	uint32_t type = kind & TYPE_MASK;
	uint32_t flags = (is_robust(kind) ? LH_ROBUST : 0) |
	    (type == PTHREAD_MUTEX_ERRORCHECK ? 0 : LH_NO_DEADLOCK);
	int error;

	if (u->count > 0 && type == PTHREAD_MUTEX_RECURSIVE)
		return lhi_pthread_lock_again(u);
	if (u->count > 0) {
		error = lhi_pthread_verify(u);
		return error != 0 ? error : w->try ? EBUSY :
		    -lhi_fail(-EDEADLK, "this thread has locked the mutex");
	}
	u->robust = u->dirty = false;
	error = lhi_pthread_lock(u, w, LH_EXCLUSIVE, flags);
	return error == 0 && is_robust(kind) ? enter(u) : error;
}

static int
lock_until(lh_mutex_t *m, const struct lhi_pthread_wait *w)
{
	struct lhi_pthread_use *u;
	uint32_t kind;
	int error = check(m, &kind);

	if (error == 0)
		error = lhi_pthread_find(words(m), &u);
	if (error != 0)
		return error;
	error = lock_found(u, kind, w);
	lhi_pthread_put(u);
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

/* Finds a mutex that this thread has locked.  EPERM if it has not. */
static int
find_held(lh_mutex_t *m, struct lhi_pthread_use **u)
{
	uint32_t kind;
	int error = check(m, &kind);

	if (error != 0)
		return error;
	*u = lhi_pthread_held(words(m));
	return *u != NULL ? 0 : -lhi_fail(-EPERM, "this thread has not locked "
	    "the mutex");
}

int
lh_mutex_unlock(lh_mutex_t *m)
{
	struct lhi_pthread_use *u;
	int error = find_held(m, &u);

	if (error != 0)
		return error;
	/* if it fails, the next holder may repair it */
	if (u->dirty && u->count == 1)
		(void)lh_value_set(u->lh, &u->lease, lost, sizeof(lost));
	error = lhi_pthread_unlock(u);
	lhi_pthread_put(u);
	return error;
}

int
lh_mutex_consistent(lh_mutex_t *m)
{
	struct lhi_pthread_use *u;
	int error = find_held(m, &u);

	if (error == EPERM || (error == 0 && !u->dirty))
		return -lhi_fail(-EINVAL, "the mutex is not inconsistent, or "
		    "this thread has not locked it");
	if (error == 0)
		error = lhi_pthread_error(lh_mark_consistent(u->lh,
		    &u->lease));
	if (error == 0)
		u->dirty = false;
	return error;
}

int
lh_mutex_lease(lh_mutex_t *m, struct lh_lease *lease)
{
	struct lhi_pthread_use *u;
	int error;

	if (lease == NULL)
		return -lhi_fail(-EINVAL, "no lease was given to fill (NULL)");
	error = find_held(m, &u);
	return error != 0 ? error : lhi_pthread_lease(u, lease);
}
