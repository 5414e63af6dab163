/* SPDX-License-Identifier: MIT */
/* Noticing a table that is truncated: see guard.c. */
#ifndef REAPER_GUARD_H
#define REAPER_GUARD_H

#include <stdbool.h>

/* Once, at the beginning. */
void guard_begin(void);

/* Calls fn(arg).  False: it met memory that is not there any more, and read
 * zeros instead. */
bool guard_run(void (*fn)(void *arg), void *arg);

#endif
