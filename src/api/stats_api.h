/* SPDX-License-Identifier: MIT */
/* What lh_stats() tells, of a table that one is not attached to. */
#ifndef LHI_STATS_API_H
#define LHI_STATS_API_H

#include <leasehold/inspect.h>
#include "shm/view.h"

void lhi_stats_of(struct lhi_view *v, struct lh_stats *stats);

#endif
