/* SPDX-License-Identifier: MIT */
/* Setting a key's value under a lease: see lease_value.c. */
#ifndef LHI_LEASE_VALUE_H
#define LHI_LEASE_VALUE_H

#include "op/acquire.h"

/* The lease that was asked for is there: set the value that goes with it, if
 * none was set under this lease before.  0; -errno. */
int lhi_lease_value_set_once(struct lh *lh,
    const struct lhi_acquire_request *ask, const struct lh_lease *lease);

#endif
