/* SPDX-License-Identifier: MIT */
/* lh_stats() of a table without an attachment. */
#ifndef LHI_STATS_API_H
#define LHI_STATS_API_H

#include <leasehold/inspect.h>
#include "shm/view.h"

void lhi_stats_of(struct lhi_view *v, struct lh_stats *stats);

#endif
