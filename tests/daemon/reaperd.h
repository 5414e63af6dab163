/* SPDX-License-Identifier: MIT */
/* The daemon itself ($REAPERD), in the foreground, for tests in C. */
#ifndef TESTS_REAPERD_H
#define TESTS_REAPERD_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static char reaperd_dir[] = "/tmp/leasehold-daemon.XXXXXX";

static pid_t
reaperd_start(const char *table)
{
	const char *program = getenv("REAPERD");
	pid_t pid;

	if (program == NULL)
		program = "build/release/leasehold-reaperd";
	if (access(program, X_OK) != 0 || mkdtemp(reaperd_dir) == NULL)
		bail_out("no daemon: %s", program);
	pid = fork();
	if (pid == 0) {
		int fd = open("/dev/null", O_WRONLY);

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)setenv("RUNTIME_DIRECTORY", reaperd_dir, 1);
		(void)setenv("LEASEHOLD_REAPERD_METRICS", "off", 1);
		(void)dup2(fd, STDERR_FILENO);
		(void)execl(program, program, "-f", "-t", table, NULL);
		_exit(127);
	}
	return pid;
}

static void
reaperd_end(pid_t pid)
{
	char path[64];

	(void)kill(pid, SIGTERM);
	is(t_reap(pid, T_HANG_MS), 0, "the daemon ends");
	(void)snprintf(path, sizeof(path), "%s/pid", reaperd_dir);
	ok(access(path, F_OK) != 0, "and its file is gone");
	(void)rmdir(reaperd_dir);
}

#endif
