/* SPDX-License-Identifier: MIT */
/* Forks: from the program, and from each kind of callback. */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>
#include "env/ops.h"

/* A child of the process owns nothing, opens the table, and excludes. */
static int
child_of(struct lh *lh)
{
	struct lh_acquire_opts o = ops_opts(0);
	struct lh_lease l;
	struct lh *own;
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		if (lh_acquire(lh, "held", &o, &l) != -EPERM)
			_exit(1);
		if (lh_open(&own, lh_table_name(lh), NULL) != 0)
			_exit(2);
		if (lh_acquire(own, "held", &o, &l) != -EAGAIN)
			_exit(3);
		if (lh_acquire(own, ops_name("child"), &o, &l) != 0 ||
		    lh_close(own) != 0)
			_exit(4);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	return status == 0 ? 0 : -ECHILD;
}

static int
from_key(const struct lh_key_info *info, void *arg)
{
	return child_of(arg);
}

static int
from_with(const struct lh_held *held, void *arg)
{
	return child_of(arg);
}

static int from_event_result;

static void
from_event(struct lh_lock *lock, const struct lh_event *event, void *arg)
{
	if (event->what == LH_EVENT_ACQUIRED)
		from_event_result = child_of(arg);
}

/* From the program, and from each kind of callback. */
int
forks_run(struct lh *lh)
{
	struct lh_lock_opts lo = LH_LOCK_OPTS_INIT;
	struct lh_acquire_opts o = ops_opts(0);
	struct lh_lock *lock;
	int e = child_of(lh), result = 0;

	if (e == 0)
		e = lh_status(lh, "held", NULL, from_key, lh);
	if (e == 0)
		e = lh_with(lh, ops_name("with"), &o, from_with, lh, &result);
	if (e == 0)
		e = result;
	lo.event = from_event;
	lo.arg = lh;
	if (e == 0)
		e = lh_lock_open(lh, ops_name("event"), &lo, &lock);
	if (e != 0)
		return e;
	e = lh_lock_acquire(lock, &o);
	if (e == 0)
		e = lh_lock_release(lock);
	(void)lh_lock_close(lock);
	return e != 0 ? e : from_event_result;
}
