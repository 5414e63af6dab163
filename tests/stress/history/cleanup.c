/* SPDX-License-Identifier: MIT */
/*
 * See cleanup.h.  The parent holds the only write end of a pipe, but for its
 * other children, which ask to be killed when it goes; so end-of-file means
 * that all of them are gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live_files.h"
#include "cleanup.h"

void
cleanup_add(struct cleanup *j, const char *fmt, ...)
{
	va_list ap;

	if (j->n == CLEANUP_PATHS)
		return;
	va_start(ap, fmt);
	vsnprintf(j->paths[j->n++], sizeof(j->paths[0]), fmt, ap);
	va_end(ap);
}

static void
work(const struct cleanup *j, int fd)
{
	unsigned i;
	char c;

	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* A reader of our parent's output must not wait for us. */
	for (i = 0; i < 3; i++)
		close((int)i);
	while (read(fd, &c, 1) < 0 && errno == EINTR)
		;
	for (i = 0; i < j->n; i++) {
		remove_live_files(j->paths[i]);
		if (unlink(j->paths[i]) && (errno == EISDIR || errno == EPERM))
			rmdir(j->paths[i]);
	}
	_exit(0);
}

int
cleanup_start(struct cleanup *j)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC))
		return -errno;
	j->pid = fork();
	if (j->pid < 0)
		return -errno;
	if (j->pid == 0) {
		close(p[1]);
		work(j, p[0]);
	}
	close(p[0]);
	j->fd = p[1];
	return 0;
}

void
cleanup_stop(struct cleanup *j)
{
	close(j->fd);
	while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
