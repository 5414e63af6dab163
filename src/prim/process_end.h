/* SPDX-License-Identifier: MIT */
/* Proof that a process has ended, before the kernel has torn down its memory:
 * see process_end.c. */
#ifndef LHI_PROCESS_END_H
#define LHI_PROCESS_END_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * True if it is proved that no thread of the process that started then runs
 * user code any more, or ever will.  False if one may, or in doubt: it is not
 * visible, may not be looked at, has more than 250 threads, or is another
 * process by now.  pid is one of our pid namespace.  errno is unchanged.
 */
bool lhi_process_has_ended(pid_t pid, uint64_t start_ticks);

/* A waiter's means to see the end of a process.  All zero: nothing is open. */
struct lhi_process_watch {
	pid_t pid;		/* 0: nothing */
	uint64_t start_ticks;
	int task, statm;	/* /proc/PID/task; statm of its first thread */
	uint64_t device, task_inode, statm_inode;
};

/* Begins to watch that process, which lives, so that its end can be proved
 * quickly.  Opens two descriptors, or none if it has several threads or cannot
 * be seen.  Takes 60 us.  errno is unchanged. */
void lhi_process_watch_begin(struct lhi_process_watch *w, pid_t pid,
    uint64_t start_ticks);

/* Ends it, if anything is open.  errno is unchanged. */
void lhi_process_watch_end(struct lhi_process_watch *w);

/* True if it is that process which is watched. */
bool lhi_process_watch_is_of(const struct lhi_process_watch *w, pid_t pid,
    uint64_t start_ticks);

/* As lhi_process_has_ended(), of the process that is watched: in seven system
 * calls instead of fourteen.  False, too, if it has several threads. */
bool lhi_process_watch_has_ended(const struct lhi_process_watch *w);

#endif
