/* SPDX-License-Identifier: MIT */
/* Converting a lease, at once (convert.c) and in time (upgrade.c). */
#ifndef LHI_UPGRADE_H
#define LHI_UPGRADE_H

#include "op/lease_check.h"

/*
 * lh_convert(); *beside: it is -EAGAIN (and nothing is said in words) because
 * others read, and may work when these have gone.
 */
int lhi_convert(struct lh *lh, struct lh_lease *l, uint32_t mode, bool *beside);

/* The lease that a wait to upgrade is for, in the wait's claim (grant). */
#define UPGRADE_SHIFT 24

static inline uint64_t
lhi_upgrade_of(uint32_t ci, uint64_t seq)
{
	return (uint64_t)ci << UPGRADE_SHIFT | (seq & MASK(SEQ_BITS));
}

/* Its claim. */
static inline uint32_t
lhi_upgrade_claim(const struct shm_claim *c)
{
	return (uint32_t)(sh64_load(&c->grant) >> UPGRADE_SHIFT);
}

/* And which use of that. */
static inline uint64_t
lhi_upgrade_seq(const struct shm_claim *c)
{
	return sh64_load(&c->grant) & MASK(SEQ_BITS);
}

#endif
