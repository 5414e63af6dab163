/* SPDX-License-Identifier: MIT */
/* Does this host have the right to go by a lease of a cluster key?  See
 * right.c. */
#ifndef LHI_OP_RIGHT_H
#define LHI_OP_RIGHT_H

#include "op/lease.h"
#include "shm/right.h"

/* For how long, at least. */
struct lhi_right_end {
	int64_t until_ns;	/* CLOCK_BOOTTIME */
	int64_t left_ns;	/* by then, when it was asked */
};

/* May leases in that mode on that life of the slot be gone by, now?  (end: or
 * NULL.) */
bool lhi_right_lets(const struct lhi_view *v, const struct lhi_ref *ref,
    bool shared, struct lhi_right_end *end);

/*
 * The same of a lease, of whatever key: leases of keys of this host alone, and
 * all leases of who serves the cluster, need no right.
 */
bool lhi_right_of(const struct lhi_held *h);

/* Does that lease need one? */
static inline bool
lhi_right_needed(const struct lh *lh, const struct shm_slot *s)
{
	return lhi_right_has(s) && !lh->serves;
}

/* The end of a lease that ends by itself at end_ns, on the table's clock: not
 * after that of its right.  (Until the machine is suspended.) */
int64_t lhi_right_cut_ns(const struct lhi_held *h, int64_t end_ns);

/* For how long has it the right that it needs?  False: it has none. */
bool lhi_right_left(struct lh *lh, const struct lh_lease *l,
    struct lhi_right_end *end);

/* When does it end by itself, whatever its right? */
int64_t lhi_right_asked_ns(struct lh *lh, const struct lh_lease *l);

/*
 * The lease's right has ended: the lease has, too, for good and for all (G9).
 * -ESTALE with a sentence.
 */
int lhi_right_lost(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h);

/* How a token lies above the base of its slot's right. */
enum lhi_right_place {
	PLACE_GOOD,
	PLACE_HALF,		/* good, and half of the tokens are used up */
	PLACE_BAD		/* below it, or too far above */
};

enum lhi_right_place lhi_right_place(const struct lhi_view *v,
    const struct shm_slot *s, uint64_t token);

/* This attachment is the shim's: to it, cluster keys are keys like others. */
void lhi_right_serve(struct lh *lh);

#endif
