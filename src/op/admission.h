/* SPDX-License-Identifier: MIT */
/* Decides whose turn it is, and deals with a waiter that does not take its
 * turn.  acquire_wait.c and upgrade.c call it. */
#ifndef LHI_ADMISSION_H
#define LHI_ADMISSION_H

#include "shm/view.h"

/* One attempt to acquire, queued or not. */
struct lhi_admission {
	struct lhi_view *v;
	struct shm_slot *s;
	uint32_t ci;
	uint32_t priority;
	bool shared;		/* shared mode is wanted: overtakes no writer */
	bool reader;		/* passes readers: shared, and not deferred */
	bool queued;
	uint32_t first;		/* out: the first eligible waiter, or 0 */
};

/* Returns 1 if this attempt may take the lock now, whose word allows it; 0; or
 * -EUCLEAN.  `probe`: also asks whether the first waiter's session is dead. */
int lhi_admission_can_take(struct lhi_admission *t, bool probe);

/* Finds `first`, while the lock is not free: readers are waiters like others.
 * Returns 0; -EUCLEAN. */
int lhi_admission_find_first(struct lhi_admission *t, bool probe);

/* False if the thread of a waiting claim is stopped or gone, as far as /proc
 * shows: the number may be another thread's by now. */
bool lhi_admission_may_run(struct lhi_view *v, uint32_t ci);

/* Wakes `first`, which has not taken the free lock (word w); makes it suspect
 * if it is stopped or has had its chance.  Returns true if the caller must look
 * again at once. */
bool lhi_admission_prod_or_suspect(struct lhi_admission *t, uint64_t w, int64_t
    now_ns);

/* Wakes the writer `first`, which keeps this reader out of a lock held shared;
 * makes it suspect if it does not run.  Returns true if the caller must look
 * again at once. */
bool lhi_admission_prod_barrier(struct lhi_admission *t, uint64_t w, int64_t
    now_ns);

/* The place of a queued claim. */
struct lhi_queue_place {
	uint32_t ahead;		/* waiters ahead of it */
	bool first_of_session;	/* none of them belongs to its session */
};

void lhi_admission_read_place(struct lhi_admission *t, struct lhi_queue_place
    *place);

/* Wakes the waiter that is now the first of ci's session in the queue, after ci
 * has left it. */
void lhi_admission_hand_over(struct lhi_admission *t);

#endif
