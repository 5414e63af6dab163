/* SPDX-License-Identifier: MIT */
/* Finds the slot of a caller's key, and makes it if necessary. */
#ifndef LHI_ACQUIRE_TARGET_H
#define LHI_ACQUIRE_TARGET_H

#include "proc/attachment.h"

/* Checks handle, key and flags.  Returns 0 and sets *n; or -EINVAL,
 * -ENAMETOOLONG or -EPERM. */
int lhi_key_name_check(struct lh *lh, const char *key, uint32_t flags,
    struct lhi_key_name *n);

/* Finds the key, and makes it unless LH_NO_CREATE.  Returns what lh_key_open()
 * returns. */
int lhi_key_name_resolve(struct lh *lh, const struct lhi_key_name *n,
    uint32_t flags, struct lhi_ref *ref);

/* The same, and marks the key so that it is never evicted. */
int lhi_key_name_keep(struct lh *lh, const struct lhi_key_name *n);

#endif
