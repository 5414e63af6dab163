/* SPDX-License-Identifier: MIT */
/*
 * What /proc says about a process or thread.  It is only a hint: which process
 * to wake or probe, or whether a pid was reused.  prim/process_end.c alone
 * proves something by it.
 */
#ifndef LHI_PROCSTAT_H
#define LHI_PROCSTAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct lhi_procstat {
	char state;		/* 'R', 'S', 'T', ... */
	pid_t pid, parent;
	uint32_t flags;		/* the kernel's PF_ bits */
	uint64_t start_ticks;	/* start time since boot; with the pid it
				 * identifies a process */
};

struct lhi_procstatus;

/* True if the process's stat is not to be read, because that may have to wait
 * (procstatus.h).  Takes 3 ms then, while it waits for a disk. */
bool lhi_procstat_may_stall(pid_t pid, struct lhi_procstatus *s);

/* Reads the state of a process, or of its thread `tid` if that is not 0.  A
 * process's state covers all its threads: 'Z' only if none is left, 'T' only if
 * none runs.  If it waits for a disk and has one thread, start time and flags
 * are 0: not known.  Returns false if it is not visible, or is in the middle of
 * execve(2).  errno is unchanged. */
bool lhi_procstat_read(pid_t pid, pid_t tid, struct lhi_procstat *ps);

/* True if the process is seen to run: one of its first 64 threads runs, sleeps
 * or waits in the kernel, and its control group has not frozen it
 * (base/freezer.h).  False also if that is not visible. */
bool lhi_procstat_runs(pid_t pid, struct lhi_procstat *ps);

/* Reads the state of a thread of the process whose directory /proc/PID/task is
 * open as `task`: of that process, also if its pid is another's by now. */
bool lhi_procstat_read_at(int task, pid_t tid, struct lhi_procstat *ps);

/* Reads a file `stat` that is open. */
bool lhi_procstat_read_fd(int fd, struct lhi_procstat *ps);

/* Reads the state of this process, whatever its pid is in /proc.  Returns false
 * with errno (or 0). */
bool lhi_procstat_self(struct lhi_procstat *ps);

#endif
