/* SPDX-License-Identifier: MIT */
/* Breakpoints in another process, which is stopped: see breakpoint.c. */
#ifndef CRASH_BREAKPOINT_H
#define CRASH_BREAKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BREAKPOINTS_MAX 1024

/* Replaces the breakpoints of that process by those; 0: none. */
bool breakpoint_set(pid_t pid, uint64_t a, uint64_t b);
bool breakpoint_set_all(pid_t pid, const uint64_t *rips, size_t n);

/* Adds one to those that were set.  False if there are too many, or the process
 * is gone. */
bool breakpoint_add(pid_t pid, uint64_t rip);

/* True if that process has any. */
bool breakpoint_any(pid_t pid);

/* True if there is a breakpoint before that instruction. */
bool breakpoint_is_at(pid_t pid, uint64_t rip);

/* Takes the breakpoint before that instruction away until breakpoint_put(),
 * so that the process can execute it. */
bool breakpoint_lift(pid_t pid, uint64_t rip);
bool breakpoint_put(pid_t pid, uint64_t rip);

/*
 * In that process: its other threads, which nobody traces, wait at a breakpoint
 * until it is gone.  When that takes too long, *met becomes 1 and the main
 * thread, the one that is traced, gets a SIGTRAP.
 */
void breakpoint_others_wait(_Atomic int *met);

#endif
