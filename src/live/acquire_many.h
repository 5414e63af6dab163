/* SPDX-License-Identifier: MIT */
/* Acquiring many keys.  See acquire_many.c. */
#ifndef LHI_ACQUIRE_MANY_H
#define LHI_ACQUIRE_MANY_H

#include <leasehold/many.h>

/* Checks items and their number. Returns 0; -EINVAL, -ENAMETOOLONG, -EPERM. */
int lhi_many_check(struct lh *lh, const struct lh_item *items, size_t n);

#endif
