/* SPDX-License-Identifier: MIT */
/* Ends a wait when a process has ended.  See process_watch.c. */
#ifndef TOOLS_PROCESS_WATCH_H
#define TOOLS_PROCESS_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>
#include <leasehold.h>

struct process_watch {
	int pidfd, stop_fd;
	pthread_t thread;
	bool on;
	struct lh_cancel *cancel;
};

/* From now on `cancel` ends waits once the process has ended.  Where that
 * cannot be watched, nothing does. */
void process_watch_begin(struct process_watch *w, pid_t pid,
    struct lh_cancel *cancel);
void process_watch_end(struct process_watch *w);

#endif
