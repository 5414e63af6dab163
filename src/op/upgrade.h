/* SPDX-License-Identifier: MIT */
/* Converting a lease, at once (convert.c) and in time (upgrade.c). */
#ifndef LHI_UPGRADE_H
#define LHI_UPGRADE_H

#include "op/lease_check.h"

/* lh_convert(). *beside: the result is -EAGAIN (without a sentence) because
 * others read, and may succeed when these have left. */
int lhi_convert(struct lh *lh, struct lh_lease *l, uint32_t mode, bool *beside);

#endif
