/* SPDX-License-Identifier: MIT */
/*
 * Holds a key while a command runs: what `leasehold run` and `leasehold sem
 * run` do.  This file puts the steps in order; run.h says where they are.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/text.h"
#include "daemon/usage_error.h"
#include "file_lock.h"
#include "flock_session.h"
#include "message.h"
#include "nesting.h"
#include "open_table.h"
#include "run.h"
#include "run_child.h"
#include "run_command.h"
#include "run_keys.h"
#include "run_launch.h"
#include "run_options.h"
#include "run_wait.h"

/* With -F the session lives on in the descriptor, and the lease until its
 * deadline. */
static int
exec_command(struct run *r)
{
	int fd = run_child_liveness_fd(r), e;

	if (fd < 0)
		return message_error(fd, lh_error_detail(), "cannot pass '%s' "
		    "on", r->name);
	e = run_child_environment(r, -1);
	if (e != 0)
		return message_error(e, NULL, "cannot start the command");
	e = run_keys_verify(r);
	if (run_keys_are_lost(r, e)) {	/* for example because we were
					 * stopped */
		message("the lease on '%s' was lost before the command started",
		    r->name);
		return r->lost_code;
	}
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot start the "
		    "command");
	return run_child_exec(r, &fd, 1);
}

static int
run_with_keys(struct run *r)
{
	int sigfd, status;

	message_never_block();
	sigfd = run_child_take_signals(r);
	if (sigfd < 0) {
		message("cannot take signals: %s", strerror(-sigfd));
		return EX_SYSTEM;
	}
	if (nesting_is_deadlock(r))
		return r->busy_code;
	if (!run_wait_acquire(r, sigfd, &status))
		return status;
	if (!r->no_fork)
		return run_launch(r, sigfd);
	status = exec_command(r);
	(void)run_keys_release(r);
	return status;
}

/* `leasehold flock` acquires the key of a file before it locks the file.  Here
 * the file comes first, so with that key the two could wait for each other. */
static bool
has_key_of_file(const struct run *r)
{
	char key[FILE_KEY_MAX];

	if (flock_session_key(r->flock_fd, key) != 0)
		return false;
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->items[i].key, key) == 0)
			return true;
	return false;
}

/* Locks the file of --flock, before the keys: jobs of flock(1) may hold it for
 * long.  Returns 0, or the exit status. */
static int
lock_file(struct run *r)
{
	int e;

	r->flock_fd = file_lock_open(r->flock_path);
	if (r->flock_fd < 0)
		return message_error(r->flock_fd, strerror(-r->flock_fd),
		    "cannot open '%s'", r->flock_path);
	if (has_key_of_file(r))
		return usage_error("with --flock '%s' the key is not that of "
		    "the file: 'leasehold flock' acquires it before the file, "
		    "so that the two could wait for each other; use another "
		    "key, or leave out --flock", r->flock_path);
	e = file_lock(r->flock_fd, r->mode == LH_SHARED ? LOCK_SH : LOCK_EX,
	    &r->wait_ms);
	if (e == -EAGAIN || e == -ETIMEDOUT) {
		message_busy("'%s' is not held: another process %s '%s' locked "
		    "(flock)", r->name, e == -EAGAIN ? "has" : "kept",
		    r->flock_path);
		return r->busy_code;
	}
	if (e != 0)
		return message_error(e, strerror(-e), "cannot lock '%s'",
		    r->flock_path);
	if (!r->close_flock)
		(void)fcntl(r->flock_fd, F_SETFD, 0);
	return 0;
}

/* The command's children may have the descriptor still: unlocks it for all. */
static void
unlock_file(struct run *r)
{
	if (r->flock_fd < 0)
		return;
	(void)flock(r->flock_fd, LOCK_UN);
	(void)close(r->flock_fd);
}

int
run_command(int argc, char **argv)
{
	struct run r = {
		.more = LH_ACQUIRE_MORE_INIT,
		.wait_ms = 3600 * 1000,
		.ttl_ms = 30 * 1000,
		.busy_code = EX_BUSY,
		.lost_code = EX_LOST,
		.flock_fd = -1,
	};
	char title[LH_APPLICATION_MAX + 1];
	int e, status;

	if (!run_options_parse(&r, argc, argv, &status))
		return status;
	(void)text_name(r.name, r.key);
	(void)snprintf(title, sizeof(title), "%.*s", LH_APPLICATION_MAX,
	    r.title);
	if (r.flock_path != NULL) {
		status = lock_file(&r);
		if (status != 0) {
			unlock_file(&r);
			return status;
		}
	}
	e = open_table(&r.lh, &r.table, LH_LIVENESS_FD, title);
	if (e != 0) {
		unlock_file(&r);
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	}
	status = run_with_keys(&r);
	if (r.sem != NULL)
		(void)lh_sem_close(r.sem);
	(void)lh_close(r.lh);
	unlock_file(&r);
	return status;
}
