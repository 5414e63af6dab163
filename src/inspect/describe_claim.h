/* SPDX-License-Identifier: MIT */
/* The parties of a key, for reports. */
#ifndef LHI_DESCRIBE_CLAIM_H
#define LHI_DESCRIBE_CLAIM_H

#include <leasehold/inspect.h>
#include "shm/view.h"

/* Parties, in the order in which they were added. */
struct lhi_crowd {
	struct lh_party *p;
	uint32_t n;
	uint32_t room;
	bool no_memory;
};

/*
 * One more: who is behind claim ci, which is in range, exclusively and without
 * deadline, rank and token.  NULL: out of memory, and that is noted.
 */
struct lh_party *lhi_describe_claim_add(struct lhi_view *v, struct lhi_crowd
    *crowd, uint32_t ci);

/* When a holder's lease in state st ends, and under which policy. */
void lhi_describe_claim_ends(const struct lhi_view *v, struct lh_party *p,
    uint64_t st);

#endif
