/* SPDX-License-Identifier: MIT */
/* Sets a key's value under a lease: see lease_value.c. */
#ifndef LHI_LEASE_VALUE_H
#define LHI_LEASE_VALUE_H

#include "op/acquire.h"

/* Sets the value that was requested with the lease, unless one was set under
 * this lease before.  Returns 0 or -errno. */
int lhi_lease_value_set_once(struct lh *lh,
    const struct lhi_acquire_request *ask, const struct lh_lease *lease);

#endif
