/* SPDX-License-Identifier: MIT */
/* The hook that tests set in a build with LHI_HOOKS: see shared.h. */
#include "prim/shared.h"

#ifdef LHI_HOOKS
void (*lhi_hook)(const char *what, const void *addr);
#endif
