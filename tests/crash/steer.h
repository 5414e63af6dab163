/* SPDX-License-Identifier: MIT */
/*
 * Holding the reins of another process, which is stopped: where it is, one
 * instruction on, or on to a breakpoint.  What for is told in trace.c.
 */
#ifndef CRASH_STEER_H
#define CRASH_STEER_H

#include <sys/ptrace.h>
#include "crash/play.h"

/* Where the process is. */
struct spot {
	uint64_t rip, rsp;
};

struct spot steer_spot(pid_t pid);

/*
 * Resume, and wait for the next trap; other signals are passed on.  False when
 * the process has ended.
 */
bool steer_resume(struct play *p, pid_t pid, enum __ptrace_request how);

/* One instruction. */
bool steer_step(struct play *p, pid_t pid, struct spot *at);

/* Two execution breakpoints, each of length 1; 0 in rip: none.  False where
 * there are no debug registers. */
bool steer_break(pid_t pid, uint64_t a, uint64_t b);

#endif
