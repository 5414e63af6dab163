/* SPDX-License-Identifier: MIT */
/* Setting a key's value under a lease: see value.c. */
#ifndef LHI_OP_VALUE_H
#define LHI_OP_VALUE_H

#include "proc/lh.h"

/* As lh_value_set(), the value's length being in range. */
int lhi_value_put(struct lh *lh, const struct lh_lease *l, const void *value,
    size_t len);

/* Was the value of the lease's key set under this very lease? */
bool lhi_value_is_of(struct lh *lh, const struct lh_lease *l);

/* That failed with `error`, for a lease that was acquired just now: it is given
 * back, and what was said of the failure stays said. */
void lhi_value_refused(struct lh *lh, struct lh_lease *l, int error);

#endif
