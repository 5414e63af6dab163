/* SPDX-License-Identifier: MIT */
/*
 * Whether this host may rely on a lease of a cluster key.  See cluster_check.c.
 */
#ifndef LHI_CLUSTER_CHECK_H
#define LHI_CLUSTER_CHECK_H

#include "op/lease_check.h"
#include "shm/cluster_right.h"

/*
 * True if the lease is valid now as far as rights go: its key is this host's
 * alone, this attachment serves the cluster, or the key's right is valid for
 * the lease's mode (lhi_right_is_valid()).
 */
bool lhi_cluster_check_lease(const struct lhi_held *h);

/* True if leases on that slot need a right. */
static inline bool
lhi_cluster_check_is_needed(const struct lh *lh, const struct shm_slot *s)
{
	return lhi_right_has(s) && !lh->serves;
}

/* Returns the end, on the table's clock, of a lease that ends by itself at
 * end_ns: not after that of its right.  (Until the machine is suspended.) */
int64_t lhi_cluster_check_end_ns(const struct lhi_held *h, int64_t end_ns);

/* Shortens l->expires_ns to that, whatever its key. */
void lhi_cluster_check_shorten(struct lh *lh, struct lh_lease *l);

/* Returns for how long the lease has the right that it needs.  False: it has
 * none. */
bool lhi_cluster_check_time_left(struct lh *lh, const struct lh_lease *l,
    struct lhi_right_end *end);

/* The place of a token above the base of its slot's right. */
enum lhi_cluster_check_place {
	PLACE_GOOD,
	PLACE_HALF,		/* good, and half of the tokens are used up */
	PLACE_BAD		/* below it, or too far above */
};

enum lhi_cluster_check_place lhi_cluster_check_place(const struct lhi_view *v,
    const struct shm_slot *s, uint64_t token);

/* Returns 0 if a held lease may continue under that token, which it would get
 * by a conversion or hand-off; -EAGAIN with a sentence. */
int lhi_cluster_check_next_token(const struct lhi_held *h, uint64_t token);

/*
 * Remembers the right of a cluster key that this thread has just acquired, with
 * that ttl.  As long as its clock shows this tick, it may acquire the key again
 * by the fast path (acquire.c), and call lhi_cluster_check_lent_stands().
 */
void lhi_cluster_check_remember_right(struct lh *lh, const struct lh_lease *l,
    int64_t ttl_ns);

/* True if that is the key whose right is remembered, and claim 0 is available
 * for it. */
static inline bool
lhi_cluster_check_has_lent(const struct lhi_claim_cache *m,
    const struct lhi_ref *ref)
{
	const struct lhi_cached_claim *r = &m->rec[0];

	return ref->slot_ref == m->lent.slot_ref && r->slot_ref == 0 &&
	    lhi_cached_claim_now(r) == CACHED_FREE && r->slot == ref->slot;
}

/* True if the remembered right is unchanged, and the token belongs to it; then
 * the lease is made to end no later than the right. */
static inline bool
lhi_cluster_check_lent_stands(const struct lhi_claim_cache *m,
    struct lh_lease *l)
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

/* Marks this attachment as the shim's, which has the byte and no leases yet: it
 * treats cluster keys like others; and its leases need no right. */
void lhi_cluster_check_serve(struct lh *lh);

#endif
