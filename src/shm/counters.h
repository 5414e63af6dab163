/* SPDX-License-Identifier: MIT */
/* Counters: what happens in a table, how often.  See counters.c. */
#ifndef LHI_COUNTERS_H
#define LHI_COUNTERS_H

#include <leasehold/inspect.h>
#include "shm/view.h"

#define USES_BITS (EPOCH_BITS + SEQ_BITS)	/* of a claim: then from 0 */

_Static_assert(LH_HISTOGRAM == SHM_HOLD_TIMES, "hold times of a table");

/* Adds n to the counter of the viewer. */
static inline void
lhi_counters_add(struct lhi_view *v, unsigned which, uint64_t n)
{
	(void)sh64_fetch_add(v->me != NULL ? &v->me->stat[which] :
	    &v->hdr->gone[which], n);
}

/* The same for a session: that of a claim which the viewer used. */
void lhi_counters_add_to(struct lhi_view *v, uint64_t sid, unsigned which,
    uint64_t n);

/* Counts a use of the viewer's claim that was not an acquisition. */
static inline void
lhi_counters_spent(struct lhi_view *v)
{
	lhi_counters_add(v, STAT_SPENT, 1);
}

/* Count a wait that was granted after that time; a hold that ended after it. */
void lhi_counters_waited(struct lhi_view *v, int64_t ns);
void lhi_counters_held(struct lhi_view *v, int64_t ns);

/* Counts the end of a lease of session `owner`, by cause. */
void lhi_counters_ended(struct lhi_view *v, uint64_t owner, enum lhi_cause
    cause);

/* Adds chunk ch, which has become that session's. */
void lhi_counters_chunk(struct lhi_view *v, uint32_t ch, uint64_t sid);

/* Moves the counters of session record idx, which has no owner now, to the
 * sums. */
void lhi_counters_begin(struct lhi_view *v, uint32_t idx);

/* Returns the sums over the table, and a session's part.  False: its
 * acquisitions are not known at this moment, and 0. */
void lhi_counters_table(struct lhi_view *v, struct lh_counters *c);
bool lhi_counters_session(struct lhi_view *v, uint32_t idx, uint64_t sid,
    struct lh_counters *c);

#endif
