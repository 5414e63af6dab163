/* SPDX-License-Identifier: MIT */
/* The descriptor that keeps a session alive: see liveness_api.c. */
#ifndef LHI_LIVENESS_API_H
#define LHI_LIVENESS_API_H

#include "proc/attachment.h"

#define LIVE_FD_LOST (-2)	/* closed by the application */

/* True if the liveness descriptor is still ours: the application may have
 * closed it. */
bool lhi_liveness_is_own(const struct lh *lh);

#endif
