/* SPDX-License-Identifier: MIT */
/*
 * Holding the reins of another process, which is stopped: where it is, one
 * instruction on, or on to a breakpoint.  trace.c says what for.
 */
#ifndef CRASH_TRACEE_H
#define CRASH_TRACEE_H

#include <sched.h>
#include <sys/ptrace.h>
#include "crash/trial.h"

/* Where the process is. */
struct spot {
	uint64_t rip, rsp;
};

/*
 * From now on for a while, or until trial_watch(0): if it does not come to an
 * end it is killed, and blamed for that.  Processor time of other
 * processes does not count (trial_watch_used()).
 */
void tracee_watch(pid_t pid);

/* How long that is; 0: as usual. */
void tracee_span(int64_t ms);

/* Where it is.  False, with blame, when it is gone: it may be killed at any
 * time, also between its last stop and the look. */
bool tracee_spot(struct trial *p, pid_t pid, struct spot *at);

/*
 * Resume, and wait for the next trap, or breakpoint (breakpoint.h); other
 * signals are passed on.  False when the process has ended.
 */
bool tracee_resume(struct trial *p, pid_t pid, enum __ptrace_request how);

/* Was that trap the entry to a system call, or the way out?  (With
 * PTRACE_SYSCALL.) */
bool tracee_at_call(void);

/* True if it was about to write to what is guarded (guard.h). */
bool tracee_at_fault(void);

/* It is at the entry to a system call: to the way out. */
bool tracee_finish_call(struct trial *p, pid_t pid);

/* It and this process to the processor that this one is on; *before: where they
 * could be.  And back. */
void tracee_share_cpu(pid_t pid, cpu_set_t *before);
void tracee_part_cpu(pid_t pid, const cpu_set_t *before);

/* One instruction. */
bool tracee_step(struct trial *p, pid_t pid, struct spot *at);

#endif
