/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G3: a process in another time namespace, whose CLOCK_MONOTONIC
 * differs, is refused with -EXDEV. A child enters a namespace a day ahead (for
 * its own children) and forks: that one may not attach to the outer table, may
 * use its own, and the outer process may not attach to that one.  An inherited
 * attachment is refused as well.  Needs root.
 *
 * Otherwise every lease would look expired, or none would ever expire.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#define NO_NAMESPACE 42

static struct lh *outer;
static const char *outer_name, *inner_name;
static struct t_event *ready, *end;

static int
a_day_ahead(void *arg)
{
	struct lh_lease lease;
	struct lh *lh = NULL;

	(void)arg;
	is(lh_open(&lh, outer_name, NULL), -EXDEV, "it is refused");
	ok(t_has_detail(), "with a reason");
	ok(lh == NULL, "and gets no handle");
	is(t_acquire(outer, "k", 1000, 0, &lease), -EPERM,
	    "what it inherited is refused");
	is(lh_open(&lh, inner_name, NULL), 0, "it may have its own table");
	is(t_acquire(lh, "k", 3600000, 0, &lease), 0, "and use it");
	is(lh_verify(lh, &lease), 0, "by its own clock");
	is(lh_open(&lh, outer_name, NULL), -EXDEV, "it is still refused");
	t_post(ready);
	t_await(end, 1, T_HANG_MS);
	is(lh_release(lh, &lease), 0, "it releases its own");
	is(lh_close(lh), 0, "and closes");
	return tap_child_status();
}

static int
enter(void *arg)
{
	static const char offset[] = "monotonic 86400 0\n";
	int fd;

	if (unshare(CLONE_NEWTIME) != 0)
		return NO_NAMESPACE;
	fd = open("/proc/self/timens_offsets", O_WRONLY);
	if (fd < 0 || write(fd, offset, sizeof(offset) - 1) < 0)
		return NO_NAMESPACE;
	close(fd);
	return t_reap(t_fork(a_day_ahead, arg), T_HANG_MS);
}

int
main(void)
{
	struct lh_lease lease;
	struct lh *lh = NULL;
	pid_t pid;
	int r;

	if (geteuid() != 0)
		skip_all("only root enters a time namespace");
	outer_name = t_table();
	inner_name = t_table();
	ready = t_shared(sizeof(*ready));
	end = t_shared(sizeof(*end));
	outer = t_open(outer_name);
	lease = t_hold(outer, "k");
	pid = t_fork(enter, NULL);
	if (t_await(ready, 1, T_HANG_MS / 2)) {
		is(lh_open(&lh, inner_name, NULL), -EXDEV,
		    "the other way round it is the same");
		ok(t_has_detail(), "with a reason");
		t_post(end);
	}
	r = t_reap(pid, T_HANG_MS);
	if (r == NO_NAMESPACE)
		skip(1, "no time namespaces here");
	else
		is(r, 0, "the process a day ahead saw what it should");
	is(lh_verify(outer, &lease), 0, "the outer lease is as it was");
	is(lh_release(outer, &lease), 0, "and is released");
	t_close(outer);
	return done();
}
