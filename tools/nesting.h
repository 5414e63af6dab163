/* SPDX-License-Identifier: MIT */
/* A `run` inside another one's command.  See nesting.c. */
#ifndef TOOLS_NESTING_H
#define TOOLS_NESTING_H

#include <stdbool.h>
#include <stdint.h>
#include "run.h"

/*
 * True if an ancestor of ours (LEASEHOLD_HELD) holds a key of ours, so that we
 * would wait for ourselves; a message says so.  Where both are shared it is
 * false, and r->nested is set.
 */
bool nesting_is_deadlock(struct run *r);

/*
 * True if LEASEHOLD_HELD names a lease on that key which still holds it; *mode
 * is the lease's.  `system`: lh is a table of the machine.
 */
bool nesting_is_held(struct lh *lh, bool system, const char *key,
    uint32_t *mode);

/* Returns LEASEHOLD_HELD with our leases added: allocated, or NULL. */
char *nesting_list(struct run *r);

#endif
