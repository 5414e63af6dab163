/* SPDX-License-Identifier: MIT */
/* Acquiring many keys.  See many.c. */
#ifndef LHI_MANY_H
#define LHI_MANY_H

#include <leasehold/many.h>

/* Items and number in order?  0; -EINVAL, -ENAMETOOLONG, -EPERM. */
int lhi_many_check(struct lh *lh, const struct lh_item *items, size_t n);

#endif
