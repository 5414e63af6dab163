/* SPDX-License-Identifier: MIT */
/* Fork, and the locks that are held over it: see fork.c. */
#ifndef LHI_FORK_H
#define LHI_FORK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/process.h"

/* A mutex whose holder cannot be cancelled: it would keep it for ever. */
struct lhi_lock {
	pthread_mutex_t mutex;
	int cancel_state;	/* of whoever holds it */
};

#define LHI_LOCK_INIT { .mutex = PTHREAD_MUTEX_INITIALIZER }

void lhi_lock_take(struct lhi_lock *l);
void lhi_lock_give(struct lhi_lock *l);

/* Waits for the condition, with the lock held before and after. */
void lhi_lock_await(struct lhi_lock *l, pthread_cond_t *cond);

/*
 * For all of src/proc that rarely changes: maps, lists of claim caches, pools.
 * It guards nothing in shared memory and is never held while waiting.
 */
void lhi_proc_lock(void);
void lhi_proc_unlock(void);

/* For the waits that can be cancelled (op/cancel.c). */
void lhi_cancel_lock(void);
void lhi_cancel_unlock(void);

/*
 * What a part of the library does about fork.  Its lock, or NULL, is taken
 * before the two above.  `child` forgets what belongs to the parent; it runs
 * once in a child, before anything else of the library does.  `whole`: no other
 * thread was inside the locks, so that lists are not half changed.
 */
struct lhi_fork_part {
	struct lhi_lock *lock;
	void (*child)(bool whole);
};

/* Adds a part; again is nothing.  It stays for the life of the process. */
void lhi_fork_join(const struct lhi_fork_part *part);

/* In a child, if nothing of the library has run in it yet: lhi_forks(). */
void lhi_fork_enter(void);

/* Forks on the way from the first process to this one. */
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
