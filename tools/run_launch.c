/* SPDX-License-Identifier: MIT */
/*
 * From the grant to the command: prepares everything, then decides for the last
 * time whether to start it.
 *
 * The order matters.  First the descriptor takes over every signal that a
 * holder handles, so that none is lost.  Then everything that can fail is done:
 * pipes, descriptors, the environment.  Then the lease is verified by the
 * precise clock, because a command must never start under a lease that has
 * ended.  Last, the signals that arrived since are read.  The command has not
 * seen them, so one that asks to end means "do not start".
 *
 * If anything fails here, the lease is released at once and nothing has run.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "daemon/exit_status.h"
#include "message.h"
#include "process_tree.h"
#include "run.h"
#include "run_child.h"
#include "run_guard.h"
#include "run_keys.h"
#include "run_launch.h"

struct launch {
	int keep_fds[2];	/* inherited by the command: loss pipe,
				 * liveness */
	int n_keep;
	int loss_fd;		/* the pipe's writing end */
};

static int
prepare_launch(struct run *r, struct launch *l)
{
	int ends[2], fd, e;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	l->keep_fds[l->n_keep++] = ends[0];
	l->loss_fd = ends[1];
	fd = run_child_liveness_fd(r);
	if (fd < 0)
		return fd;
	l->keep_fds[l->n_keep++] = fd;
	e = run_child_environment(r, l->keep_fds[0]);
	if (e != 0)
		return e;
	process_tree_begin();
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
		return -errno;
	return run_keys_verify(r);
}

/* Returns a signal that means "do not start", or 0. */
static int
pending_end_signal(int sigfd)
{
	bool by_kernel;
	int sig, end = 0;

	while ((sig = run_child_next_signal(sigfd, &by_kernel)) != 0)
		if (run_child_is_ending(sig) && end == 0)
			end = sig;
	return end;
}

static int
fail_launch(struct run *r, int error)
{
	if (error == -EUCLEAN && !run_keys_are_lost(r, error)) {
		(void)message_error(error, lh_error_detail(), "cannot start "
		    "the command");
		(void)run_keys_release(r);
		return EX_DAMAGED;
	}
	(void)run_keys_release(r);
	if (error == -ESTALE || error == -EUCLEAN) {
		message("the lease on '%s' was lost before the command started",
		    r->name);
		return r->lost_code;
	}
	if (error == -EMFILE)
		message("cannot start the command: too many open files: it "
		    "inherits a descriptor of number 10 or more, which keeps "
		    "'%s' held; raise the limit (ulimit -n)", r->name);
	else
		message("cannot start the command: %s", strerror(-error));
	return EX_SYSTEM;
}

int
run_launch(struct run *r, int sigfd)
{
	struct launch l = { .loss_fd = -1 };
	int e, sig;
	pid_t pid;

	e = run_child_take_all_signals(sigfd);
	if (e >= 0)
		e = prepare_launch(r, &l);
	if (e != 0)
		return fail_launch(r, e);
	sig = pending_end_signal(sigfd);
	if (sig != 0) {
		(void)run_keys_release(r);
		message("not started: %s", strsignal(sig));
		return EX_SIGNAL + sig;
	}
	pid = run_child_start(r, l.keep_fds, l.n_keep);
	if (pid < 0)
		return fail_launch(r, pid);
	while (l.n_keep > 0)
		(void)close(l.keep_fds[--l.n_keep]);
	return run_guard(r, sigfd, pid, l.loss_fd);
}
