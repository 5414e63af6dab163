/* SPDX-License-Identifier: MIT */
/*
 * Keeps the memory of closed handles for a while.  The close functions of
 * src/api and src/live call it.
 *
 * The memory of a closed handle is not reused until KEPT more handles of its
 * kind were closed.  Until then, a call with that handle finds the closed mark
 * and fails with -EINVAL.  Otherwise it would read whatever the allocator has
 * put there.  The resources of a handle (mappings, descriptors) are freed when
 * it is closed.
 *
 * Each kind has a ring of places.  A closed handle goes to the next place, and
 * the handle that was there is freed.  One atomic exchange does that, so no
 * lock is needed.  A fork in between loses the memory of at most one handle.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include "base/handle.h"

#define KEPT 64u

static _Atomic(void *) closed[HANDLE_KINDS][KEPT];
static _Atomic uint32_t turn[HANDLE_KINDS];

void
lhi_handle_free(enum lhi_handle_kind kind, void *handle)
{
	uint32_t n = atomic_fetch_add(&turn[kind], 1) % KEPT;

	free(atomic_exchange(&closed[kind][n], handle));
}
