/* SPDX-License-Identifier: MIT */
/* Releasing, internally: release.c, release_shared.c, release_options.c. */
#ifndef LHI_RELEASE_H
#define LHI_RELEASE_H

#include "op/lease_check.h"

/* release.c: releases a lease that an acquire was granted and has not reported
 * yet. */
int lhi_lease_give_back(struct lh *lh, struct lh_lease *l);

/* Fails a release whose lease turns out to have been ended, after the word of
 * its grant was freed. */
int lhi_release_late(struct lhi_claim_cache *m, struct shm_slot *s,
    struct lh_lease *l);

/* Wakes the first waiter, q being the queue's first link, unless it need not be
 * woken.  Returns 0. */
int lhi_release_wake(struct lhi_claim_cache *m, struct shm_slot *s,
    uint64_t q);

/* release_shared.c: lh_release() in shared mode; and the same without the
 * accounts of release_options.c. */
int lhi_release_shared(struct lh *lh, struct lh_lease *l);
int lhi_release_reader(struct lh *lh, struct lh_lease *l);

/* release_options.c: releases with `release`, and updates everything else that
 * records the lease: its holder id, its request id. */
int lhi_release_slow(struct lh *lh, struct lh_lease *l,
    int (*release)(struct lh *lh, struct lh_lease *l));

/* Counts and logs a release, if the table records that. */
void lhi_release_record(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h);

#endif
