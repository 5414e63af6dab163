/* SPDX-License-Identifier: MIT */
/* Counted re-entry.  See holder.c. */
#ifndef LHI_HOLDER_H
#define LHI_HOLDER_H

#include "op/acquire.h"

typedef int lhi_acquire_fn(struct lh *lh, struct lhi_want *want,
    const struct lhi_ask *ask, struct lh_lease *lease);

/* Acquire for the holder that ask names: the lease that it has, or by fn. */
int lhi_holder_acquire(struct lh *lh, struct lhi_want *want,
    const struct lhi_ask *ask, struct lh_lease *lease, lhi_acquire_fn *fn);

/*
 * A lease is about to be released (not checked yet).  True: its holder has
 * acquired it once more than released it since; *l is released now, and there
 * is nothing else to do.
 */
bool lhi_holder_stays(struct lh *lh, struct lh_lease *l);

/* The lease with that id has become *to. */
void lhi_holder_follow(struct lh *lh, uint64_t id, const struct lh_lease *to);

/* The attachment ends. */
void lhi_holder_end(struct lh *lh);

#endif
