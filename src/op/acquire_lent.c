/* SPDX-License-Identifier: MIT */
/*
 * Acquires a cluster key again on the straight path: this host has the right to
 * it, and the thread has read that right in this tick (cluster_check.c).  The
 * right is checked again after the grant, so that a grant without it is given
 * back.
 *
 * A crash or stop anywhere leaves what the straight path leaves.
 */
#include "op/acquire_straight.h"
#include "op/cluster_check.h"
#include "shm/counters.h"
#include "shm/key_slot.h"

/* Acquires a cluster key again, if its right is the one that was read in this
 * tick.  False: nothing is acquired. */
__attribute__((noinline)) bool
lhi_acquire_lent(struct lh *lh, const struct lhi_ref *ref,
    const struct lh_acquire_opts *opts, struct lh_lease *lease)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct lhi_cached_claim *r = m->rec;
	enum lhi_how how;

	how = (opts != NULL ? m->lh : m->usual) != lh ||
	    lhi_mutant_on(use_number) ? UNTOUCHED :
	    lhi_acquire_straight(m, FREE_CLUSTER, lease);
	if (how == GRANTED || how == LATE)
		lhi_cached_claim_set(r, CACHED_LENT);
	if (how == GRANTED && lhi_cluster_check_lent_stands(m, lease))
		return true;
	m->lent.slot_ref = 0;
	if (how == OUTDONE)
		lhi_acquire_retract(m, r);
	else if (r->use == CACHED_LENT && lh_release(lh, lease) == 0)
		lhi_counters_spent(&lh->v);
	return false;
}

/* The same by name, if that is the key that claim 0 had last. */
bool
lhi_acquire_lent_name(struct lh *lh, const char *key,
    const struct lh_acquire_opts *opts, struct lh_lease *lease)
{
	const struct lhi_claim_cache *m = lhi_claim_cache_current;
	const struct lhi_ref ref = { m->rec[0].slot, m->lent.slot_ref };

	return m->lh == lh && m->lent.slot_ref != 0 && key != NULL &&
	    lease != NULL && lhi_cluster_check_has_lent(m, &ref) &&
	    (lhi_slot_is(ref.slot, key) || lhi_mutant_on(lent_any_name)) &&
	    (opts == NULL || lhi_has_usual_opts(m, opts, ref.slot_ref)) &&
	    lhi_acquire_lent(lh, &ref, opts, lease);
}
