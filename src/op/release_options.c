/* SPDX-License-Identifier: MIT */
/*
 * Releases on the slow path, and updates everything else that records a lease:
 *
 *	holder id	may have acquired it more than once: op/reentry.c
 *	request id	must say RELEASED before the word is freed:
 *			op/idempotency.c
 *	table		hold times and logged grants, if they are recorded
 *
 * release.c and release_shared.c free word and claim.  (Acquiring in the same
 * way: acquire_options.c.)
 */
#include "op/idempotency.h"
#include "op/reentry.h"
#include "op/release.h"
#include "shm/counters.h"
#include "shm/events.h"

void
lhi_release_record(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h)
{
	struct timespec ts;

	if (!lhi_view_watched(&lh->v))
		return;
	lhi_coarse(&ts);
	if (sh32_load_rlx(&lh->v.hdr->options) & SHM_OPT_HOLD_TIMES)
		lhi_counters_held(&lh->v, lhi_timespec_ns(&ts) +
		    lhi_clock_lead_ns(&lh->v) -
		    lhi_claim_since_ns(&lh->v, h->claim));
	if (lhi_view_records(&lh->v))
		lhi_event_lease(&lh->v, LH_LOG_RELEASED, h->shared, h->slot,
		    h->ci, l->token, 0);
}

int
lhi_release_slow(struct lh *lh, struct lh_lease *l,
    int (*release)(struct lh *lh, struct lh_lease *l))
{
	struct lhi_request q;

	if (lhi_reentry_leave(lh, l))
		return 0;
	lhi_idempotency_begin_release(lh, l, &q);
	return lhi_idempotency_end_release(lh, l, &q, release(lh, l));
}
