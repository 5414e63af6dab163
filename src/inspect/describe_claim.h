/* SPDX-License-Identifier: MIT */
/* Describes the holders and waiters (parties) of a key, for reports.
 * snapshot.c and dump_api.c use it. */
#ifndef LHI_DESCRIBE_CLAIM_H
#define LHI_DESCRIBE_CLAIM_H

#include <leasehold/inspect.h>
#include "shm/cluster_right.h"

/* A list of parties, in the order in which they were added. */
struct lhi_crowd {
	struct lh_party *p;
	uint32_t n;
	uint32_t room;
	bool no_memory;
};

/* Adds the owner of claim ci, which must be in range, as an exclusive party
 * without deadline, rank and token.  Returns NULL, and notes it, if there is no
 * memory. */
struct lh_party *lhi_describe_claim_add(struct lhi_view *v, struct lhi_crowd
    *crowd, uint32_t ci);

/* Sets when a holder's lease in state st ends, and its policy. */
void lhi_describe_claim_ends(const struct lhi_view *v, struct lh_party *p,
    uint64_t st);

/*
 * Marks what the holders of a cluster key are: the shim, or leases that end
 * with this host's right to the key, or have ended with it.  Does nothing for
 * other keys.
 */
void lhi_describe_claim_rights(const struct lhi_view *v,
    const struct shm_slot *s, struct lhi_crowd *holders);

#endif
