/* SPDX-License-Identifier: MIT */
/* Detects a `run` inside the command of another one. See nesting.c. */
#ifndef TOOLS_NESTING_H
#define TOOLS_NESTING_H

#include <stdbool.h>
#include <stdint.h>
#include "run.h"

/*
 * True if an ancestor (LEASEHOLD_HELD) holds one of our keys, so that we would
 * wait for ourselves; a message says so.  If both are shared it returns false
 * and sets r->nested.
 */
bool nesting_is_deadlock(struct run *r);

/* True if LEASEHOLD_HELD names a lease that still holds that key; *mode is the
 * lease's mode.  `system`: lh is a table of the machine. */
bool nesting_is_held(struct lh *lh, bool system, const char *key,
    uint32_t *mode);

/* Returns how many permits of that semaphore the leases hold that
 * LEASEHOLD_HELD names. */
uint32_t nesting_count_permits(struct lh *lh, bool system,
    const char *semaphore);

/* Returns LEASEHOLD_HELD with our leases added: allocated, or NULL. */
char *nesting_list(struct run *r);

#endif
