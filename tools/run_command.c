/* SPDX-License-Identifier: MIT */
/*
 * Holds a key while a command runs: what `leasehold run` and `leasehold sem
 * run` do.  This file puts the steps in order; run.h says where they are.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/text.h"
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
	if (run_keys_verify(r) == -ESTALE) {	/* for example because we
						 * were stopped */
		message("the lease on '%s' was lost before the command started",
		    r->name);
		return r->lost_code;
	}
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

int
run_command(int argc, char **argv)
{
	struct run r = {
		.more = LH_ACQUIRE_MORE_INIT,
		.wait_ms = 3600 * 1000,
		.ttl_ms = 30 * 1000,
		.busy_code = EX_BUSY,
		.lost_code = EX_LOST,
	};
	char title[LH_APPLICATION_MAX + 1];
	int e, status;

	if (!run_options_parse(&r, argc, argv, &status))
		return status;
	(void)text_name(r.name, r.key);
	(void)snprintf(title, sizeof(title), "%.*s", LH_APPLICATION_MAX,
	    r.title);
	e = open_table(&r.lh, &r.table, LH_LIVENESS_FD, title);
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	status = run_with_keys(&r);
	if (r.sem != NULL)
		(void)lh_sem_close(r.sem);
	(void)lh_close(r.lh);
	return status;
}
