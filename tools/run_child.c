/* SPDX-License-Identifier: MIT */
/*
 * Sets up the command: its signals, environment and descriptors.  Starts it.
 *
 * Signals.  A signal that our caller ignores stays ignored, in us and in the
 * command (nohup; a script's background job). The other signals that we pass on
 * are blocked here and read from a descriptor; the command gets its mask back
 * before exec.  PIPE and TTOU are blocked as well but never read, because a
 * closed pipe, or a terminal that stops background writers, must not end or
 * stop the process that keeps the lease.
 *
 * Process group.  The command stays in our group, as under nice(1) or flock(1).
 * So the terminal's keys, the shell's job control, pipelines and a supervisor
 * that signals the group all reach it without our help.  Our handling of its
 * descendants does not need the group (process_tree.c).
 *
 * Descriptors.  The command inherits our descriptors and two more: the reading
 * end of the loss pipe (LEASEHOLD_LOSS_FD) and the liveness descriptor.  The
 * number of the latter is 10 or more, so that `exec 3<file` in scripts does not
 * collide with it.
 *
 * Death.  The command is killed when we die (PDEATHSIG, which the kernel drops
 * for set-user-id programs). The getppid() check covers our death before
 * PDEATHSIG was set.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "message.h"
#include "nesting.h"
#include "run.h"
#include "run_child.h"
#include "run_keys.h"
#include "show.h"

#define LIVENESS_FD_LEAST 10

static const int taken[] = {
	SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP,
	SIGCONT, SIGCHLD,
};

/* During the wait the other signals keep their usual effect. */
static bool
is_for_waiters(int sig)
{
	return run_child_is_ending(sig) || sig == SIGCHLD;
}

bool
run_child_is_ending(int sig)
{
	return sig == SIGINT || sig == SIGTERM || sig == SIGHUP ||
	    sig == SIGQUIT;
}

static int
block_signals(int fd, bool all)
{
	struct sigaction act;
	sigset_t read_mask, mask;
	size_t i;

	(void)sigemptyset(&read_mask);
	for (i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		if (!all && !is_for_waiters(taken[i]))
			continue;
		if (taken[i] != SIGCHLD &&
		    sigaction(taken[i], NULL, &act) == 0 &&
		    act.sa_handler == SIG_IGN)
			continue;
		(void)sigaddset(&read_mask, taken[i]);
	}
	mask = read_mask;
	(void)sigaddset(&mask, SIGPIPE);
	(void)sigaddset(&mask, SIGTTOU);
	if (sigprocmask(SIG_BLOCK, &mask, NULL) != 0)
		return -errno;
	fd = signalfd(fd, &read_mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int
run_child_take_signals(struct run *r)
{
	struct sigaction chld = { .sa_handler = SIG_DFL };

	/* If ignored, the kernel would reap the command for us. */
	if (sigaction(SIGCHLD, &chld, &r->old_chld) != 0 ||
	    sigprocmask(SIG_BLOCK, NULL, &r->old_mask) != 0)
		return -errno;
	return block_signals(-1, false);
}

int
run_child_take_all_signals(int fd)
{
	return block_signals(fd, true);
}

int
run_child_next_signal(int fd, bool *by_kernel)
{
	struct signalfd_siginfo info;
	ssize_t n;

	do {
		n = read(fd, &info, sizeof(info));
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(info))
		return 0;
	*by_kernel = info.ssi_code > 0;
	return (int)info.ssi_signo;
}

static int
set_variable(const char *name, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static int
set_variable(const char *name, const char *fmt, ...)
{
	char *value = NULL;
	va_list ap;
	int n, e;

	va_start(ap, fmt);
	n = vasprintf(&value, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -ENOMEM;
	e = setenv(name, value, 1) == 0 ? 0 : -ENOMEM;
	free(value);
	return e;
}

/* Sets the variable and frees the value. NULL: out of memory. */
static int
set_variable_list(const char *name, char *list)
{
	int e = list == NULL || setenv(name, list, 1) != 0 ? -ENOMEM : 0;

	free(list);
	return e;
}

int
run_child_environment(struct run *r, int loss_fd)
{
	int bad = set_variable_list("LEASEHOLD_HELD", nesting_list(r));

	bad |= set_variable("LEASEHOLD_TABLE", "%s", lh_table_name(r->lh));
	if (r->table.system)
		bad |= set_variable("LEASEHOLD_SYSTEM", "1");
	else if (unsetenv("LEASEHOLD_SYSTEM") != 0)
		bad = -ENOMEM;
	bad |= set_variable("LEASEHOLD_KEY", "%s", r->key);
	bad |= set_variable("LEASEHOLD_MODE", "%s", show_mode(r->mode));
	bad |= set_variable_list("LEASEHOLD_FENCE", run_keys_list(r,
	    RUN_KEYS_TOKENS));
	bad |= set_variable_list("LEASEHOLD_LEASE_ID", run_keys_list(r,
	    RUN_KEYS_IDS));
	bad |= set_variable("LEASEHOLD_EXPIRES_MS", "%" PRId64,
	    lh_epoch_ms(r->lh, r->expires_ns));
	if (loss_fd >= 0)
		bad |= set_variable("LEASEHOLD_LOSS_FD", "%d", loss_fd);
	else if (unsetenv("LEASEHOLD_LOSS_FD") != 0)	/* that of an
							 * ancestor */
		bad = -ENOMEM;
	return bad != 0 ? -ENOMEM : 0;
}

int
run_child_liveness_fd(struct run *r)
{
	int fd, high, e;

	fd = lh_liveness_fd(r->lh);
	if (fd < 0)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, LIVENESS_FD_LEAST);
	/* EINVAL: no descriptor of that number is allowed */
	e = errno == EINVAL ? EMFILE : errno;
	(void)close(fd);
	return high < 0 ? -e : high;
}

int
run_child_exec(struct run *r, const int *keep_fds, int n_keep)
{
	int i, e, flags;

	for (i = 0; i < n_keep; i++) {
		flags = fcntl(keep_fds[i], F_GETFD);
		if (flags >= 0)
			(void)fcntl(keep_fds[i], F_SETFD, flags & ~FD_CLOEXEC);
	}
	(void)sigaction(SIGCHLD, &r->old_chld, NULL);
	(void)sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
	(void)execvp(r->argv[0], r->argv);
	e = errno;
	message("cannot run '%s': %s", r->argv[0], strerror(e));
	return e == ENOENT ? EX_NOT_FOUND : EX_CANNOT_RUN;
}

pid_t
run_child_start(struct run *r, const int *keep_fds, int n_keep)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		return -errno;
	if (pid > 0)
		return pid;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
		_exit(EX_SYSTEM);
	_exit(run_child_exec(r, keep_fds, n_keep));
}
