/* SPDX-License-Identifier: MIT */
/* Looks at all processes and their threads in /proc: see processes.c. */
#ifndef LHI_PROCESSES_H
#define LHI_PROCESSES_H

#include <stdbool.h>
#include <sys/types.h>

#define TASK_PATH_LEN 48	/* "/proc/PID/task/TID" */
#define DESCRIPTORS_MAX 1048576	/* looked at, of one table */

/* Calls fn for each process, until it returns true.  Returns false if some were
 * not looked at. */
bool lhi_processes_each(bool (*fn)(pid_t pid, void *arg), void *arg);

/* Calls fn for each thread of the process, until it returns true, which is
 * returned.  `task` is its directory in /proc. */
bool lhi_processes_each_thread(pid_t pid, bool (*fn)(const char *task,
    pid_t tid, void *arg), void *arg);

/* The same, but not for a thread whose descriptors are known to be those of the
 * thread before it. */
bool lhi_processes_each_table(pid_t pid, bool (*fn)(const char *task,
    pid_t tid, void *arg), void *arg);

/* True if the thread of that directory is no more.  (Files in the directory of
 * a thread that ends just then are refused with EACCES.) */
bool lhi_processes_has_thread_ended(const char *task);

/* True if /proc shows every process of the machine, and lets us look at it. */
bool lhi_processes_are_visible(void);

#endif
