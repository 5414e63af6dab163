/* SPDX-License-Identifier: MIT */
/* Does this host have the right to go by a lease of a cluster key?  See
 * cluster_check.c. */
#ifndef LHI_CLUSTER_CHECK_H
#define LHI_CLUSTER_CHECK_H

#include "op/lease_check.h"
#include "shm/cluster_right.h"

/*
 * True if the lease may be gone by now, as far as rights go: its key is this
 * host's alone, this attachment serves the cluster, or the key's right is valid
 * for the lease's mode (lhi_right_is_valid()).
 */
bool lhi_cluster_check_of(const struct lhi_held *h);

/* Does that lease need one? */
static inline bool
lhi_cluster_check_needed(const struct lh *lh, const struct shm_slot *s)
{
	return lhi_right_has(s) && !lh->serves;
}

/* The end of a lease that ends by itself at end_ns, on the table's clock: not
 * after that of its right.  (Until the machine is suspended.) */
int64_t lhi_cluster_check_cut_ns(const struct lhi_held *h, int64_t end_ns);

/* The same of a lease that is about to be told, whatever its key. */
void lhi_cluster_check_cut(struct lh *lh, struct lh_lease *l);

/* For how long has it the right that it needs?  False: it has none. */
bool lhi_cluster_check_left(struct lh *lh, const struct lh_lease *l,
    struct lhi_right_end *end);

/* How a token lies above the base of its slot's right. */
enum lhi_cluster_check_place {
	PLACE_GOOD,
	PLACE_HALF,		/* good, and half of the tokens are used up */
	PLACE_BAD		/* below it, or too far above */
};

enum lhi_cluster_check_place lhi_cluster_check_place(const struct lhi_view *v,
    const struct shm_slot *s, uint64_t token);

/* May a lease that is held go on under that token, which it would get by being
 * converted or handed over?  0; -EAGAIN with a sentence. */
int lhi_cluster_check_next(const struct lhi_held *h, uint64_t token);

/*
 * The lease, of a cluster key, was just acquired by this thread, with that ttl:
 * as long as its clock shows this tick, it may have the key again by the short
 * way (acquire.c), and ask lhi_right_stands().
 */
void lhi_cluster_check_learn(struct lh *lh, const struct lh_lease *l, int64_t
    ttl_ns);

/* Is that the key of which something was learnt, and claim 0 at hand for it? */
static inline bool
lhi_right_lent(const struct lhi_claim_cache *m, const struct lhi_ref *ref)
{
	const struct lhi_cached_claim *r = &m->rec[0];

	return ref->slot_ref == m->lent.slot_ref && r->slot_ref == 0 &&
	    r->use == CACHED_FREE && r->slot == ref->slot;
}

/* Is the right that was learnt there still, and the token one of it?  The
 * lease's end is not after that of the right, then. */
static inline bool
lhi_right_stands(const struct lhi_claim_cache *m, struct lh_lease *l)
{
	const struct lhi_view *v = &m->lh->v;
	const struct shm_right *r = &v->rights[(uint32_t)m->lent.slot_ref];

	if (lhi_cluster_epoch(v) != m->lent.epoch ||
	    sh64_load_sc(&r->right) != m->lent.right ||
	    sh64_load_sc(&r->base) >= l->token ||
	    lhi_cluster_until(v) < m->lent.until)
		return false;
	if (l->expires_ns > m->lent.ends_ns)
		l->expires_ns = m->lent.ends_ns;
	return true;
}

/*
 * This attachment is the shim's, who has the byte and no leases yet: to it,
 * cluster keys are keys like others; to others, its leases need no right.
 */
void lhi_cluster_check_serve(struct lh *lh);

#endif
