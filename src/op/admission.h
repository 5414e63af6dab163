/* SPDX-License-Identifier: MIT */
/* Whose turn it is, and what to do about somebody who does not take it. */
#ifndef LHI_ADMISSION_H
#define LHI_ADMISSION_H

#include "shm/view.h"

/* One attempt to acquire, queued or not, as the waiting code sees it. */
struct lhi_admission {
	struct lhi_view *v;
	struct shm_slot *s;
	uint32_t ci;
	uint32_t priority;
	bool shared;		/* what is wanted: overtakes no writer */
	bool reader;		/* passes readers: shared, and not barred */
	bool queued;
	uint32_t first;		/* out: the first eligible waiter, or 0 */
};

/*
 * May this attempt take the lock, whose word allows it, now?  With `probe`,
 * asks whether the first waiter's session is dead.  1, 0, -EUCLEAN.
 */
int lhi_admission_can_take(struct lhi_admission *t, bool probe);

/*
 * The lock is free (word w), and `first` has not taken it: wake it; if it is
 * stopped, or has had its chance, make it suspect.  True: look again at once.
 */
bool lhi_admission_prod_or_suspect(struct lhi_admission *t, uint64_t w, int64_t
    now_ns);

/*
 * The lock is held shared, and the writer `first` keeps this reader out of it:
 * wake it; if it does not run, make it suspect.  True: look again at once.
 */
bool lhi_admission_prod_barrier(struct lhi_admission *t, uint64_t w, int64_t
    now_ns);

/* Where does a queued claim stand? */
struct lhi_queue_place {
	uint32_t ahead;		/* waiters before it */
	bool first_of_session;	/* none of them of its own session */
};

void lhi_admission_read_place(struct lhi_admission *t, struct lhi_queue_place
    *place);

/* ci has left the queue: wake who is now the first of its session there. */
void lhi_admission_hand_over(struct lhi_admission *t);

#endif
