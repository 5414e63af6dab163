/* SPDX-License-Identifier: MIT */
/* Converting a lease, at once (convert.c) and in time (upgrade.c). */
#ifndef LHI_UPGRADE_H
#define LHI_UPGRADE_H

#include "op/lease_check.h"

/*
 * lh_convert(); *beside: it is -EAGAIN (and nothing is said in words) because
 * others read, and may work when these have gone.
 */
int lhi_convert(struct lh *lh, struct lh_lease *l, uint32_t mode, bool *beside);

#endif
