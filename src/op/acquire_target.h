/* SPDX-License-Identifier: MIT */
/* From a caller's key to a slot, making it if need be. */
#ifndef LHI_ACQUIRE_TARGET_H
#define LHI_ACQUIRE_TARGET_H

#include "proc/attachment.h"

/* Handle, key and flags in order?  0 and *n; -EINVAL, -ENAMETOOLONG, -EPERM. */
int lhi_key_name_check(struct lh *lh, const char *key, uint32_t flags,
    struct lhi_key_name *n);

/* Find the key, making it unless LH_NO_CREATE.  Errors as lh_key_open(). */
int lhi_key_name_resolve(struct lh *lh, const struct lhi_key_name *n,
    uint32_t flags, struct lhi_ref *ref);

/* The same, and the key is never evicted to make room. */
int lhi_key_name_keep(struct lh *lh, const struct lhi_key_name *n);

#endif
