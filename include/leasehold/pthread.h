/* SPDX-License-Identifier: MIT */
/*
 * Mutexes and read/write locks with the names and results of POSIX threads, for
 * programs that use robust, process-shared ones: replace pthread_mutex by
 * lh_mutex, and pthread_rwlock by lh_rwlock.  Not included by leasehold.h.
 *
 *	static lh_mutex_t m = LH_MUTEX_INITIALIZER;
 *
 *	if (lh_mutex_lock(&m) == 0) {
 *		work();
 *		lh_mutex_unlock(&m);
 *	}
 *
 * A mutex is plain data: a random number, which names a key of the table
 * "default" (LEASEHOLD_TABLE, lh_pthread_table()), and which table that is.  It
 * may lie in memory that processes share, at any address, and be copied: all
 * copies are the same mutex.  Zero bytes are one that gets its number when it
 * is first used, so a copy made before that is another mutex (also in a child
 * of fork(), if the memory is not shared).
 *
 * All who share a lock must use one table.  Each user has tables of their own,
 * so processes of several users cannot share one, nor can a process that has
 * become another user's.  One that uses another table than the lock's first one
 * gets EXDEV, as all do after that was removed: then the lock must be
 * initialised again.
 *
 * As with POSIX threads:
 *
 *	Results are 0 or a positive errno value.  lh_error_detail() has words.
 *	A lock is the thread's, and is held until that unlocks it or its process
 *	ends: policy LH_POLICY_STRICT, so there is no deadline.
 *	A robust mutex (PTHREAD_MUTEX_ROBUST) whose holder or holder's process
 *	has ended gives the next one EOWNERDEAD. That calls
 *	lh_mutex_consistent(), or unlocks it, and then it is ENOTRECOVERABLE. (A
 *	thread's end counts after the first round of its destructors, so that
 *	these can unlock.)
 *	Types: PTHREAD_MUTEX_NORMAL, _ERRORCHECK, _RECURSIVE, _DEFAULT,
 *	PTHREAD_MUTEX_ADAPTIVE_NP.
 *	Constants and clocks are those of <pthread.h>.
 *
 * The differences:
 *
 *	A call can fail because the table cannot be used: EACCES, ENOSPC,
 *	ESTALE (it was removed: lh_pthread_end(), and initialise the locks),
 *	EUCLEAN and others of lh_open() and lh_acquire().  Nothing is locked
 *	then.
 *	Every type checks errors: a second lock by the same thread is EDEADLK
 *	(a recursive one counts), and unlocking what this thread has not locked
 *	is EPERM. PTHREAD_MUTEX_ERRORCHECK also finds circles of several
 *	threads and processes: EDEADLK.
 *	A mutex that is not robust is free again when its holder's process ends.
 *	An operator can end a lock (`leasehold break`); each of its unlocks is
 *	ESTALE, and so is a lock before these. For a robust one the next holder
 *	gets EOWNERDEAD.
 *	A robust mutex whose holder has died takes a key of the table until
 *	somebody locks it and declares it consistent, or destroys it; without a
 *	program that does, `leasehold destroy --inconsistent` removes the key.
 *	All are PTHREAD_PROCESS_SHARED. There are no condition variables,
 *	barriers, priority ceilings or inheritance.
 *	After fork() the child holds nothing.
 *	In a read/write lock a waiting writer keeps new readers out, but not a
 *	thread that reads already.
 *
 * Other processes see these locks as keys "pthread/NUMBER": `leasehold list`,
 * `explain` and `log` show who holds them.
 */
#ifndef LEASEHOLD_PTHREAD_H
#define LEASEHOLD_PTHREAD_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <leasehold/lease.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct lh_mutex {
	uint64_t id;		/* 0: none yet */
	uint64_t table;		/* 0: none yet */
	uint32_t kind;
	uint32_t reserved[3];
};

typedef struct lh_mutex lh_mutex_t;

struct lh_rwlock {
	uint64_t id;		/* 0: none yet */
	uint64_t table;		/* 0: none yet */
	uint32_t kind;
	uint32_t reserved[3];
};

typedef struct lh_rwlock lh_rwlock_t;

struct lh_mutexattr {
	int type, robust, shared;
	int reserved;
};

typedef struct lh_mutexattr lh_mutexattr_t;

struct lh_rwlockattr {
	int kind, shared;
	int reserved[2];
};

typedef struct lh_rwlockattr lh_rwlockattr_t;

#define LH_MUTEX_ROBUST_BIT	0x100u	/* of `kind`, beside the type */

/* (the numbers are those of PTHREAD_MUTEX_...) */
#define LH_MUTEX_INITIALIZER	{ 0, 0, 0, { 0, 0, 0 } }
#define LH_RECURSIVE_MUTEX_INITIALIZER	{ 0, 0, 1, { 0, 0, 0 } }
#define LH_ERRORCHECK_MUTEX_INITIALIZER	{ 0, 0, 2, { 0, 0, 0 } }
#define LH_ROBUST_MUTEX_INITIALIZER	\
	{ 0, 0, LH_MUTEX_ROBUST_BIT, { 0, 0, 0 } }
#define LH_RWLOCK_INITIALIZER	{ 0, 0, 0, { 0, 0, 0 } }

/*
 * Names the table that this process (and children that it forks) uses for these
 * locks: call it before the first one.  NULL: the default.  Returns 0; EINVAL:
 * no name of a table; EBUSY: a table is in use.
 */
int lh_pthread_table(const char *name);

/* Gives back all that these locks use in the process, for programs that are
 * searched for leaks.  No thread may use one meanwhile; what is still locked is
 * free then.  The next use begins anew, with the default table.  Returns 0. */
int lh_pthread_end(void);

/* Makes a new mutex, free, with a number of its own.  attr NULL: type normal,
 * not robust. Returns 0; EINVAL (NULL, an unknown type). */
int lh_mutex_init(lh_mutex_t *mutex, const lh_mutexattr_t *attr);

/* Ends a mutex: calls with it are EINVAL until it is initialised.  Returns 0;
 * EBUSY: it is locked or waited for; EINVAL; errors of the table. */
int lh_mutex_destroy(lh_mutex_t *mutex);

/*
 * Locks.  lh_mutex_trylock() does not wait (EBUSY); lh_mutex_timedlock() waits
 * until a moment of CLOCK_REALTIME, lh_mutex_clocklock() of that clock or
 * CLOCK_MONOTONIC (ETIMEDOUT; EINVAL: another clock, or, if it must wait,
 * nanoseconds outside 0 .. 999,999,999). A realtime clock that is set during
 * the wait does not change its end.
 *
 * Returns 0, or EOWNERDEAD: it is locked, and the last holder of a robust mutex
 * did not unlock it.  Else it is not locked: ENOTRECOVERABLE; EDEADLK; EINVAL;
 * EAGAIN: too many recursive locks; ESTALE: this thread has locked it, and it
 * was broken since; EXDEV; errors of the table.
 */
int lh_mutex_lock(lh_mutex_t *mutex);
int lh_mutex_trylock(lh_mutex_t *mutex);
int lh_mutex_timedlock(lh_mutex_t *mutex, const struct timespec *until);
int lh_mutex_clocklock(lh_mutex_t *mutex, clockid_t clock,
    const struct timespec *until);

/* Unlocks.  Returns 0; EPERM: this thread has not locked it; ESTALE: it was
 * broken by an operator, or its table was removed, so another one may have it;
 * EINVAL. */
int lh_mutex_unlock(lh_mutex_t *mutex);

/* Declares that what a robust mutex guards is consistent again.  Returns 0;
 * EINVAL: it is not robust, was not EOWNERDEAD, or is not this thread's;
 * ESTALE: it was broken since. */
int lh_mutex_consistent(lh_mutex_t *mutex);

/* Copies the lease of the mutex that this thread has locked, for its token.
 * Returns 0; EPERM; EINVAL. */
int lh_mutex_lease(lh_mutex_t *mutex, struct lh_lease *lease);

/* The same for a lock of readers and writers.  attr may be NULL. EDEADLK: this
 * thread has locked it for writing, or wants to write and reads; EAGAIN: locked
 * for reading too often. */
int lh_rwlock_init(lh_rwlock_t *rwlock, const lh_rwlockattr_t *attr);
int lh_rwlock_destroy(lh_rwlock_t *rwlock);
int lh_rwlock_rdlock(lh_rwlock_t *rwlock);
int lh_rwlock_tryrdlock(lh_rwlock_t *rwlock);
int lh_rwlock_timedrdlock(lh_rwlock_t *rwlock, const struct timespec *until);
int lh_rwlock_clockrdlock(lh_rwlock_t *rwlock, clockid_t clock,
    const struct timespec *until);
int lh_rwlock_wrlock(lh_rwlock_t *rwlock);
int lh_rwlock_trywrlock(lh_rwlock_t *rwlock);
int lh_rwlock_timedwrlock(lh_rwlock_t *rwlock, const struct timespec *until);
int lh_rwlock_clockwrlock(lh_rwlock_t *rwlock, clockid_t clock,
    const struct timespec *until);
int lh_rwlock_unlock(lh_rwlock_t *rwlock);

/*
 * Attributes, as POSIX has them.  EINVAL: <pthread.h> has no such value.
 * lh_mutexattr_setprotocol() accepts PTHREAD_PRIO_NONE alone (EOPNOTSUPP).
 * PTHREAD_PROCESS_PRIVATE is accepted, and such a lock is shared as well.  The
 * three kinds of a read/write lock are accepted; a waiting writer goes first in
 * each.
 */
int lh_mutexattr_init(lh_mutexattr_t *attr);
int lh_mutexattr_destroy(lh_mutexattr_t *attr);
int lh_mutexattr_settype(lh_mutexattr_t *attr, int type);
int lh_mutexattr_gettype(const lh_mutexattr_t *attr, int *type);
int lh_mutexattr_setrobust(lh_mutexattr_t *attr, int robust);
int lh_mutexattr_getrobust(const lh_mutexattr_t *attr, int *robust);
int lh_mutexattr_setpshared(lh_mutexattr_t *attr, int shared);
int lh_mutexattr_getpshared(const lh_mutexattr_t *attr, int *shared);
int lh_mutexattr_setprotocol(lh_mutexattr_t *attr, int protocol);
int lh_mutexattr_getprotocol(const lh_mutexattr_t *attr, int *protocol);
int lh_rwlockattr_init(lh_rwlockattr_t *attr);
int lh_rwlockattr_destroy(lh_rwlockattr_t *attr);
int lh_rwlockattr_setpshared(lh_rwlockattr_t *attr, int shared);
int lh_rwlockattr_getpshared(const lh_rwlockattr_t *attr, int *shared);
int lh_rwlockattr_setkind_np(lh_rwlockattr_t *attr, int kind);
int lh_rwlockattr_getkind_np(const lh_rwlockattr_t *attr, int *kind);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
