/* SPDX-License-Identifier: MIT */
/*
 * Tokens and their ceiling.  Every token is below hdr->ceiling; whoever comes
 * near it moves it on, in steps of 2^32.  In this version the ceiling is memory
 * only (scope ephemeral); a durable scope will write the step to disk before it
 * moves the word, and nothing else changes.
 */
#ifndef LHI_FENCE_H
#define LHI_FENCE_H

#include "shm/view.h"

#define TOKEN_STEP (UINT64_C(1) << 32)

/*
 * The winner of a grant moves a slot's hint on when it lags by more (C6).  A
 * claim that takes the same key again and again does not look, but comes by the
 * slow path at least every 2^22 uses.
 */
#define TOKEN_LAG_MAX (UINT64_C(1) << 30)

/* Make room for `token`: 0, or -ENOSPC at the end of the number range. */
int lhi_fence_admit(struct lhi_view *v, uint64_t token);

#endif
