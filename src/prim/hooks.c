/* SPDX-License-Identifier: MIT */
/* Where a build with LHI_HOOKS lets tests in: see shared.h. */
#include "prim/shared.h"

#ifdef LHI_HOOKS
void (*lhi_hook)(const char *what, const void *addr);
#endif
