/* SPDX-License-Identifier: MIT */
/*
 * Handles are type-stable: the memory of one that was closed stays that of a
 * closed handle until KEPT others of its kind were closed, so that a call with
 * it finds the mark and fails with -EINVAL, and does not read what the
 * allocator has made of it.  What a handle leads to (mappings, descriptors) is
 * given back when it is closed.
 *
 * Each kind has a ring of places.  A closed handle goes to the next place, and
 * what was there before is freed.  A place is exchanged in one step, so no lock
 * is needed, and a fork in the midst loses at most one handle's memory.
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
