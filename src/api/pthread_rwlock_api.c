/* SPDX-License-Identifier: MIT */
/*
 * lh_rwlock_rdlock() and its like: read/write locks with the results of POSIX
 * threads.  See leasehold/pthread.h.
 *
 * A thread that reads may read again, even while a writer waits.  The second
 * lock is only counted, in the thread: a list of the locks that it has more
 * than once.
 */
#include <errno.h>
#include <stdbool.h>
#include "api/pthread_key.h"
#include "base/error.h"
#include "proc/attachment.h"

static int
check(const lh_rwlock_t *l)
{
	if (l == NULL)
		return -lhi_fail(-EINVAL, "no lock was given (NULL)");
	return l->kind == 0 ? 0 : -lhi_fail(-EINVAL, "not a lock for readers "
	    "and writers, or a destroyed one");
}

/* Returns the place of its further locks, or of none, or -1. */
static int
find_again(struct lhi_pthread_thread *t, uint64_t id)
{
	uint32_t forks = lhi_forks();
	int unused = -1;

	for (int i = 0; t != NULL && i < LHI_PTHREAD_AGAIN; i++) {
		if (t->again[i].forks != forks)
			t->again[i].count = 0;
		if (t->again[i].count > 0 && t->again[i].id == id)
			return i;
		if (t->again[i].count == 0)
			unused = i;
	}
	return unused;
}

/* Counts another lock of this thread, which has the lock in some mode. */
static int
read_again(struct lhi_pthread_key *k, uint64_t id)
{
	struct lhi_pthread_thread *t = lhi_pthread_thread();
	int i = find_again(t, id);
	struct lh_lease l;

	if (lh_key_lease(k->key, &l) != 0 || l.mode != LH_SHARED)
		return EDEADLK;
	if (i < 0 || t->again[i].count == UINT32_MAX)
		return -lhi_fail(-EAGAIN, "this thread reads too many locks "
		    "more than once");
	t->again[i].id = id;
	t->again[i].forks = lhi_forks();
	t->again[i].count++;
	return 0;
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
		error = lhi_pthread_destroy(l->id);
	if (error == 0)
		l->kind = LHI_PTHREAD_ENDED;
	return error;
}

static int
lock_until(lh_rwlock_t *l, uint32_t mode, const struct lhi_pthread_wait *w)
{
	struct lhi_pthread_key k;
	int error = check(l);

	if (error == 0)
		error = lhi_pthread_find(&l->id, &k);
	if (error != 0)
		return error;
	error = lhi_pthread_lock(&k, w, mode, LH_NO_DEADLOCK);
	if (error == EDEADLK && mode == LH_SHARED)
		error = read_again(&k, l->id);
	lhi_pthread_put(&k);
	return error == EDEADLK && w->try ? EBUSY : error;
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
	struct lhi_pthread_thread *t = lhi_pthread_thread();
	struct lhi_pthread_key k;
	int i, error = check(l);

	if (error == 0)
		error = lhi_pthread_find(&l->id, &k);
	if (error != 0)
		return error;
	i = find_again(t, l->id);
	if (i >= 0 && t->again[i].count > 0)
		t->again[i].count--;
	else
		error = lhi_pthread_unlock(&k);
	lhi_pthread_put(&k);
	return error;
}
