/* SPDX-License-Identifier: MIT */
/* Code that is not stepped through: see step_over.c. */
#ifndef CRASH_STEP_OVER_H
#define CRASH_STEP_OVER_H

#include "crash/tracee.h"

/* True if that is the code of the vDSO, which is never stepped through. */
bool step_over_is_clock(uint64_t rip);

/* True if the program, at `from`, has just called a function of a library that
 * is not known to change the shared memory; `at` is its first instruction. */
bool step_over_is_library(pid_t pid, uint64_t from, const struct spot *at);

/* From now on that function is stepped through.  False: no more can be
 * remembered. */
bool step_over_never(uint64_t function);

/* Runs to the return from the call whose first instruction it is at.  False
 * when the process has ended. */
bool step_over_call(struct trial *p, pid_t pid, struct spot *at);

#endif
