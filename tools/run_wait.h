/* SPDX-License-Identifier: MIT */
/* The wait of a `run` for its leases.  See run_wait.c. */
#ifndef TOOLS_RUN_WAIT_H
#define TOOLS_RUN_WAIT_H

#include "run.h"

/*
 * Acquires the leases.  Returns true if r->leases are held.  Otherwise prints
 * why, and *status is the exit status, which can be 0 (-E 0). sigfd is from
 * run_child_take_signals().
 */
bool run_wait_acquire(struct run *r, int sigfd, int *status);

#endif
