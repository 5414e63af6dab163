/* SPDX-License-Identifier: MIT */
/* Waits that wait for each other in a circle. See deadlock.c. */
#ifndef LHI_DEADLOCK_H
#define LHI_DEADLOCK_H

#include "inspect/waits_for.h"
#include "op/acquire.h"

#define DEADLOCK_FIRST_NS (40 * NS_PER_MS)	/* when a wait first searches */

/* The state of a wait's searches. */
struct lhi_deadlock {
	int64_t next_ns;	/* the table's clock: when it searches again */
	int64_t gap_ns;		/* and how long after that */
	int64_t gap_max_ns;
	struct lhi_soon_leases soon;
};

/* Begins the searches of a wait, one of `crowd` of its attachment.  Returns the
 * flags of its claim for the caller's options. */
void lhi_deadlock_begin(struct lhi_deadlock *d, int64_t now_ns,
    uint32_t crowd);
uint32_t lhi_deadlock_flags(const struct lhi_acquire_request *ask);

/*
 * If a search is due: finds whether the wait of claim ci, the caller's own,
 * linked and in state WAIT, is the victim of a circle.  Returns 0; -EDEADLK
 * with a sentence that describes the circle.
 */
int lhi_deadlock_look(struct lhi_view *v, uint32_t ci, struct lhi_deadlock *d);

#endif
