/* SPDX-License-Identifier: MIT */
/*
 * Leases in motion: marks and undoes conversions and hand-offs.  convert.c,
 * handoff.c and release.c call it.
 *
 * A conversion or a hand-off moves the claim to another use, CONVERT_STEP uses
 * on, before it swaps the word; until then the word grants the old lease.  The
 * lease may be extended in that use as well.  So a caller that undoes or
 * completes its move keeps a changed deadline.  The claim's `since` shows that
 * the use is the very same one: to reach this number again, a claim needs 2^20
 * uses, and more than one tick of its thread's clock.
 *
 * A claim of a named session is marked while it moves
 * (shm/session_named_end.c), because the session outlives a process that is
 * killed in the middle.  The next keeper reclaims a marked claim that no word
 * names.
 */
#include "op/lease_check.h"
#include "shm/damaged.h"
#include "shm/claim_record.h"
#include "shm/session_named.h"

/* At worst, how the lease ended with its session is then unknown. */
static void
report_restless_flags(struct lh *lh, uint32_t ci, uint32_t n)
{
	if (LHI_REACHED(n, LHI_SWAPS_MAX))
		(void)lhi_damaged_restless(&lh->v, "the flags of a claim", ci);
}

void
lhi_lease_mark_claim_moving(struct lh *lh, uint32_t ci, uint64_t st)
{
	shm_u32 *flags = &lh->v.claims[ci].wflags;
	uint32_t was, n = 0;

	if (lhi_claim_owner(&lh->v, ci) == lh->sid ||
	    lhi_mutant_on(moves_unsaid))
		return;
	do
		was = sh32_load(flags);
	while (!sh32_cas(flags, was, (was & ~MOVING_MASK) |
	    lhi_named_mark(st)) && LHI_WITHIN(n, LHI_SWAPS_MAX));
	report_restless_flags(lh, ci, n);
	lhi_point("lease.moving");
}

void
lhi_lease_mark_moving(const struct lhi_held *h, uint64_t moved)
{
	shm_u32 *flags = &h->claim->wflags;
	uint32_t was, n = 0;

	if (lhi_claim_owner(&h->lh->v, h->ci) == h->lh->sid)
		return;
	/* read the flags, then the state: a later use is marked before it is
	 * announced, and then the swap of the earlier flags fails */
	do {
		was = sh32_load(flags);
		if (!lhi_lease_is_moved(h, sh64_load(&h->claim->state),
		    state_seq(moved)) && !lhi_mutant_on(moves_ended))
			return;		/* it has ended */
	} while (!sh32_cas(flags, was, (was & ~MOVING_MASK) |
	    lhi_named_mark(moved)) && LHI_WITHIN(n, LHI_SWAPS_MAX));
	report_restless_flags(h->lh, h->ci, n);
	lhi_point("lease.moving");
}

void
lhi_lease_clear_moving(struct lh *lh, uint32_t ci, uint64_t st)
{
	struct shm_claim *c = &lh->v.claims[ci];
	shm_u32 *flags = &c->wflags;
	uint32_t was, n = 0;

	do {
		was = sh32_load(flags);
		if (((was & MOVING_MASK) != lhi_named_mark(st) ||
		    state_seq(sh64_load(&c->state)) != state_seq(st)) &&
		    !lhi_mutant_on(rests_another))
			return;		/* the mark of another use */
	} while (!sh32_cas(flags, was, was & ~MOVING_MASK) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX));
	report_restless_flags(lh, ci, n);
	lhi_point("lease.at_rest");
}

bool
lhi_lease_is_moved(const struct lhi_held *h, uint64_t now, uint64_t seq)
{
	return state_held(now) && state_seq(now) == seq &&
	    sh64_load(&h->claim->since) == h->since;
}

bool
lhi_lease_undo_move(const struct lhi_held *h, uint64_t moved, uint64_t st)
{
	uint32_t n = 0;
	uint64_t now;

	while (now = sh64_load(&h->claim->state),
	    lhi_lease_is_moved(h, now, state_seq(moved)) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX)) {
		if (sh64_cas(&h->claim->state, now, state_make(state_st(st),
		    state_seq(st), state_deadline(now))))
			return true;
	}
	if (LHI_REACHED(n, LHI_SWAPS_MAX))
		(void)lhi_damaged_restless(&h->lh->v, "the state of a claim",
		    h->ci);
	return false;
}
