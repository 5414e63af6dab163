/* SPDX-License-Identifier: MIT */
/* Fork, and the locks that are held during fork: see fork.c. */
#ifndef LHI_FORK_H
#define LHI_FORK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/process.h"

/* A mutex whose holder cannot be cancelled; otherwise it might never be
 * released. */
struct lhi_lock {
	pthread_mutex_t mutex;
	int cancel_state;	/* the holder's cancel state before */
};

#define LHI_LOCK_INIT { .mutex = PTHREAD_MUTEX_INITIALIZER }

void lhi_lock_take(struct lhi_lock *l);
void lhi_lock_give(struct lhi_lock *l);

/* Waits for the condition; the lock is held before and after. */
void lhi_lock_await(struct lhi_lock *l, pthread_cond_t *cond);

/* The lock of everything in src/proc that rarely changes: maps, lists of claim
 * caches, pools.  It protects nothing in shared memory and is never held during
 * a wait. */
void lhi_proc_lock(void);
void lhi_proc_unlock(void);

/* The lock of waits that can be cancelled (op/cancel.c). */
void lhi_cancel_lock(void);
void lhi_cancel_unlock(void);

/*
 * How a part of the library handles fork.  Its lock, or NULL, is taken before
 * the two locks above.  `child` runs once in a child, before anything else of
 * the library, and forgets what belongs to the parent.  `whole`: no other
 * thread was inside the locks, so lists are consistent.
 */
struct lhi_fork_part {
	struct lhi_lock *lock;
	void (*child)(bool whole);
};

/* Adds a part, for the life of the process.  Adding it again has no effect. */
void lhi_fork_join(const struct lhi_fork_part *part);

/* Runs enter() in a child, if nothing of the library has run in it yet: called
 * by lhi_forks(). */
void lhi_fork_enter(void);

/* Number of forks between the first process and this one. */
extern _Atomic uint32_t lhi_fork_count;

static inline uint32_t
lhi_forks(void)
{
	struct lhi_process *p = atomic_load_explicit(&lhi_process,
	    memory_order_acquire);

	if (atomic_load_explicit(&p->entered, memory_order_acquire) !=
	    PROCESS_ENTERED)
		lhi_fork_enter();
	return atomic_load_explicit(&lhi_fork_count, memory_order_relaxed);
}

#endif
