/* SPDX-License-Identifier: MIT */
/*
 * Ends a wait when the process has ended that it is for: a script that is
 * killed leaves its `leasehold acquire` behind, which would wait on for a lock
 * that nobody wants any more.
 *
 * A thread polls the process's pidfd, and cancels the wait.
 */
#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "process_watch.h"

static void *
watch(void *arg)
{
	struct process_watch *w = arg;
	struct pollfd fds[2] = {
		{ .fd = w->pidfd, .events = POLLIN },
		{ .fd = w->stop_fd, .events = POLLIN },
	};

	while (poll(fds, 2, -1) < 0)
		;
	if (fds[0].revents != 0)
		(void)lh_cancel(w->cancel);
	return NULL;
}

void
process_watch_begin(struct process_watch *w, pid_t pid,
    struct lh_cancel *cancel)
{
	w->on = false;
	w->cancel = cancel;
	w->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	w->stop_fd = eventfd(0, EFD_CLOEXEC);
	w->on = w->pidfd >= 0 && w->stop_fd >= 0 &&
	    pthread_create(&w->thread, NULL, watch, w) == 0;
}

void
process_watch_end(struct process_watch *w)
{
	const uint64_t one = 1;

	if (w->on && write(w->stop_fd, &one, sizeof(one)) == sizeof(one))
		(void)pthread_join(w->thread, NULL);
	if (w->pidfd >= 0)
		(void)close(w->pidfd);
	if (w->stop_fd >= 0)
		(void)close(w->stop_fd);
}
