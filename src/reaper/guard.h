/* SPDX-License-Identifier: MIT */
/* Detects that a table was truncated: see guard.c.  table_pass.c and tables.c
 * use it. */
#ifndef REAPER_GUARD_H
#define REAPER_GUARD_H

#include <stdbool.h>

/* Installs the handler.  Called once, at the start. */
void guard_begin(void);

/* Calls fn(arg).  Returns false if fn touched memory that does not exist any
 * more, and read zeros instead. */
bool guard_run(void (*fn)(void *arg), void *arg);

#endif
