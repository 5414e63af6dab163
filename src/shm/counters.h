/* SPDX-License-Identifier: MIT */
/* Counters: what happens in a table, how often.  See counters.c. */
#ifndef LHI_COUNTERS_H
#define LHI_COUNTERS_H

#include <leasehold/inspect.h>
#include "shm/view.h"

#define USES_BITS (EPOCH_BITS + SEQ_BITS)	/* of a claim: then from 0 */

_Static_assert(LH_HISTOGRAM == SHM_HOLD_TIMES, "hold times of a table");

/* n more, of whoever looks through this view. */
static inline void
lhi_counters_add(struct lhi_view *v, unsigned which, uint64_t n)
{
	(void)sh64_fetch_add(v->me != NULL ? &v->me->stat[which] :
	    &v->hdr->gone[which], n);
}

/* The same for a session: that of a claim which the viewer used. */
void lhi_counters_add_to(struct lhi_view *v, uint64_t sid, unsigned which,
    uint64_t n);

/* A claim of the viewer's was used, and not to acquire with. */
static inline void
lhi_counters_spent(struct lhi_view *v)
{
	lhi_counters_add(v, STAT_SPENT, 1);
}

/* One that waited so long was granted; one that was held so long ended. */
void lhi_counters_waited(struct lhi_view *v, int64_t ns);
void lhi_counters_held(struct lhi_view *v, int64_t ns);

/* A lease of session `owner` was ended, and why. */
void lhi_counters_ended(struct lhi_view *v, uint64_t owner, enum lhi_cause
    cause);

/* Chunk ch has become that session's. */
void lhi_counters_chunk(struct lhi_view *v, uint32_t ch, uint64_t sid);

/* Session record idx, which nobody has now, will be somebody else's. */
void lhi_counters_begin(struct lhi_view *v, uint32_t idx);

/* The sums over the table, and a session's part.  False: its acquisitions are
 * not known at this moment, and 0. */
void lhi_counters_table(struct lhi_view *v, struct lh_counters *c);
bool lhi_counters_session(struct lhi_view *v, uint32_t idx, uint64_t sid,
    struct lh_counters *c);

#endif
