/* SPDX-License-Identifier: MIT */
/* Claims: one hold or one wait each.  See claim_record.c. */
#ifndef LHI_CLAIM_RECORD_H
#define LHI_CLAIM_RECORD_H

#include "shm/counters.h"
#include "shm/damaged.h"

/*
 * Returns the number of a claim's next use, from its present state.  When the
 * 22 bits in the state wrap, the epoch that completes them in lease ids moves
 * first.
 */
static inline uint64_t
lhi_claim_next_seq(struct lhi_view *v, struct shm_claim *c, uint64_t st)
{
	uint64_t seq = (state_seq(st) + 1) & MASK(SEQ_BITS);

	if (lhi_mutant_on(use_number))
		return state_seq(st);
	if (seq == 0 && sh32_fetch_add(&c->wflags, 1u << WAITER_BITS) >>
	    WAITER_BITS == MASK(EPOCH_BITS))
		lhi_counters_add(v, STAT_SPENT, -(UINT64_C(1) << USES_BITS));
	return seq;
}

#define PERIOD_NONE UINT64_MAX	/* no ttl was noted lately */

/*
 * Notes that a lease of claim ci may end ttl_ns after a moment that is about
 * now, or later: the reaper reads the chunk before that (reaper/expiry_scan.c).
 * Written before the deadline is made.  A hint: late, and any value at all, is
 * safe.
 */
static inline void
lhi_claim_ends_within(struct lhi_view *v, uint32_t ci, int64_t ttl_ns)
{
	shm_u64 *period = &v->chunks[ci / SHM_CHUNK].period;
	uint64_t ttl = (uint64_t)ttl_ns >> TICK_SHIFT, old;
	uint32_t n = 0;

	ttl += ttl == 0;
	do {
		old = sh64_load(period);
	} while ((old == 0 || ttl < old) && !sh64_cas(period, old, ttl) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX));
	if (LHI_REACHED(n, LHI_SWAPS_MAX))
		(void)lhi_damaged_restless(v, "the period of a chunk", ci);
}

/*
 * Marks the lease of a claim as ended, EXPIRED or BROKEN, if its state is still
 * st: 0; -EAGAIN: it is not.  -ESTALE: it belongs to a session that has ended,
 * and is left to its reclaiming, which may have to delay the key
 * (shm/session_named_end.c).
 */
int lhi_claim_mark(struct lhi_view *v, struct shm_claim *c, uint64_t owner,
    uint64_t st, uint64_t ended, uint64_t deadline);

/* Makes a claim of a dead session free again, whatever it was in the middle of.
 * Idempotent; may itself be killed anywhere.  Returns 0; -EUCLEAN. */
int lhi_claim_reclaim_dead(struct lhi_view *v, uint32_t ci);

/* The same for the owner, which closes its session: a lease is released, and
 * its holder not reported dead.  Returns 0; -EUCLEAN. */
int lhi_claim_close(struct lhi_view *v, uint32_t ci);

/* Before many claims are reclaimed or closed: marks the claim if it is a
 * reader's, so that the first walk of its chain takes out all of them. */
void lhi_claim_leave_chain(struct lhi_view *v, uint32_t ci, bool dead);

/*
 * Recovers a claim of the owner's claim cache that is free or terminal, or
 * (idle_too) a reader's that is idle.  Returns true: it is free now; false: it
 * is in use.
 */
bool lhi_claim_reclaim(struct lhi_view *v, uint32_t ci, bool idle_too);

/* The lease that a wait for an upgrade is for, in the `grant` of its claim. */
static inline uint64_t
lhi_upgrade_of(uint32_t ci, uint64_t seq)
{
	return (uint64_t)ci << UPGRADE_SHIFT | (seq & MASK(SEQ_BITS));
}

/* Returns the index of that lease's claim. */
static inline uint32_t
lhi_upgrade_claim(const struct shm_claim *c)
{
	return (uint32_t)(sh64_load(&c->grant) >> UPGRADE_SHIFT);
}

/* Returns the number of the use of that claim. */
static inline uint64_t
lhi_upgrade_seq(const struct shm_claim *c)
{
	return sh64_load(&c->grant) & MASK(SEQ_BITS);
}

#endif
