/* SPDX-License-Identifier: MIT */
/* A member's hooks that do nothing: to begin with. */
#ifndef SUPPORT_QUIET_H
#define SUPPORT_QUIET_H

#include "shim/member/recipe.h"

/* lost() and failed() are printed into the test's output. */
struct recipe_hooks quiet_hooks(void);

#endif
