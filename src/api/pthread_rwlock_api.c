/* SPDX-License-Identifier: MIT */
/*
 * lh_rwlock_rdlock() and its like: read/write locks with the results of POSIX
 * threads.  See leasehold/pthread.h.
 *
 * A thread that reads may read again, even while a writer waits.  The further
 * locks are only counted, in the thread.
 */
#include <errno.h>
#include <stdbool.h>
#include "api/pthread_key.h"
#include "base/error.h"

static struct lhi_pthread_words
words(lh_rwlock_t *l)
{
	return (struct lhi_pthread_words){ &l->id, &l->table };
}

static int
check(const lh_rwlock_t *l)
{
	if (l == NULL)
		return -lhi_fail(-EINVAL, "no lock was given (NULL)");
	return __atomic_load_n(&l->kind, __ATOMIC_ACQUIRE) == 0 ? 0 :
	    -lhi_fail(-EINVAL, "not a lock for readers and writers, or a "
	    "destroyed one");
}

int
lh_rwlock_init(lh_rwlock_t *l, const lh_rwlockattr_t *attr)
{
	lh_rwlock_t made = LH_RWLOCK_INITIALIZER;

	(void)attr;
	if (l == NULL)
		return -lhi_fail(-EINVAL, "no lock was given (NULL)");
	made.id = lhi_pthread_id();
	*l = made;
	return 0;
}

int
lh_rwlock_destroy(lh_rwlock_t *l)
{
	int error = check(l);

	if (error == 0)
		error = lhi_pthread_destroy(words(l));
	if (error == 0)
		__atomic_store_n(&l->kind, LHI_PTHREAD_ENDED,
		    __ATOMIC_RELEASE);
	return error;
}

static int
lock_found(struct lhi_pthread_use *u, uint32_t mode,
    const struct lhi_pthread_wait *w)
{
	int error;

	if (u->count == 0)
		return lhi_pthread_lock(u, w, mode, LH_NO_DEADLOCK);
	if (mode == LH_SHARED && u->mode == LH_SHARED)
		return lhi_pthread_lock_again(u);
	error = lhi_pthread_verify(u);
	return error != 0 ? error : w->try ? EBUSY :
	    -lhi_fail(-EDEADLK, "this thread has locked it");
}

static int
lock_until(lh_rwlock_t *l, uint32_t mode, const struct lhi_pthread_wait *w)
{
	struct lhi_pthread_use *u;
	int error = check(l);

	if (error == 0)
		error = lhi_pthread_find(words(l), &u);
	if (error != 0)
		return error;
	error = lock_found(u, mode, w);
	lhi_pthread_put(u);
	return error;
}

static int
lock_by_clock(lh_rwlock_t *l, uint32_t mode, clockid_t clock,
    const struct timespec *until)
{
	if (until == NULL)
		return -lhi_fail(-EINVAL, "no moment was given (NULL)");
	return lock_until(l, mode, &(const struct lhi_pthread_wait){
	    .clock = clock, .until = until });
}

int
lh_rwlock_rdlock(lh_rwlock_t *l)
{
	return lock_until(l, LH_SHARED, &(const struct lhi_pthread_wait){ 0 });
}

int
lh_rwlock_wrlock(lh_rwlock_t *l)
{
	return lock_until(l, LH_EXCLUSIVE,
	    &(const struct lhi_pthread_wait){ 0 });
}

int
lh_rwlock_tryrdlock(lh_rwlock_t *l)
{
	return lock_until(l, LH_SHARED,
	    &(const struct lhi_pthread_wait){ .try = true });
}

int
lh_rwlock_trywrlock(lh_rwlock_t *l)
{
	return lock_until(l, LH_EXCLUSIVE,
	    &(const struct lhi_pthread_wait){ .try = true });
}

int
lh_rwlock_clockrdlock(lh_rwlock_t *l, clockid_t clock,
    const struct timespec *until)
{
	return lock_by_clock(l, LH_SHARED, clock, until);
}

int
lh_rwlock_clockwrlock(lh_rwlock_t *l, clockid_t clock,
    const struct timespec *until)
{
	return lock_by_clock(l, LH_EXCLUSIVE, clock, until);
}

int
lh_rwlock_timedrdlock(lh_rwlock_t *l, const struct timespec *until)
{
	return lock_by_clock(l, LH_SHARED, CLOCK_REALTIME, until);
}

int
lh_rwlock_timedwrlock(lh_rwlock_t *l, const struct timespec *until)
{
	return lock_by_clock(l, LH_EXCLUSIVE, CLOCK_REALTIME, until);
}

int
lh_rwlock_unlock(lh_rwlock_t *l)
{
	struct lhi_pthread_use *u;
	int error = check(l);

	if (error != 0)
		return error;
	u = lhi_pthread_held(words(l));
	if (u == NULL)
		return -lhi_fail(-EPERM, "this thread has not locked it");
	error = lhi_pthread_unlock(u);
	lhi_pthread_put(u);
	return error;
}
