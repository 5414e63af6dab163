/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, issue 21 A9: a process that cannot read from /proc whether its
 * clock is the table's does not assume that.  Without /proc a table cannot be
 * opened, made, checked by daemons or removed: -EXDEV, with words that say to
 * mount it.  No lease of others ends by it, also where the clock is a day
 * ahead.  An attached process keeps what it knew: it acquires, sees what others
 * hold, and ends expired leases.  When a process's first thread has ended,
 * /proc says little of it; its other threads open tables as usual.  Needs root.
 *
 * Otherwise a process in another time namespace would end living leases.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#define NO_NAMESPACE 42

static const char *table, *unmade;
static struct t_event *opened, *held;

static void
is_refused(int got, const char *what)
{
	is(got, -EXDEV, "%s is refused", what);
	ok(strstr(lh_error_detail(), "mount /proc") != NULL,
	    "and told to mount /proc: %s", lh_error_detail());
}

static int
newcomer(void *arg)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh = NULL;

	(void)arg;
	if (!t_mount("/proc", ""))
		return NO_NAMESPACE;
	is_refused(lh_open(&lh, table, NULL), "opening a table");
	ok(lh == NULL, "there is no handle");
	is_refused(lh_open(&lh, unmade, &o), "making one");
	is(access(t_object(unmade), F_OK), -1, "none is there");
	is_refused(lh_table_remove(table, LH_FORCE), "removing one");
	is_refused(lh_table_repair(table, LH_DRY_RUN, NULL, NULL),
	    "repairing one");
	return tap_child_status();
}

/* The clock of its children is a day ahead: each lease seems to have ended. */
static int
a_day_ahead(void *arg)
{
	static const char offset[] = "monotonic 86400 0\n";
	int fd;

	if (unshare(CLONE_NEWTIME) != 0)
		return NO_NAMESPACE;
	fd = open("/proc/self/timens_offsets", O_WRONLY);
	if (fd < 0 || write(fd, offset, sizeof(offset) - 1) < 0)
		return NO_NAMESPACE;
	(void)close(fd);
	return t_reap(t_fork(newcomer, arg), T_HANG_MS);
}

static void *
open_alone(void *arg)
{
	struct lh *lh = NULL;

	(void)arg;
	t_sleep_ms(t_ms(20));	/* the first thread ends */
	is(lh_open(&lh, table, NULL), 0, "the table is opened: %s",
	    lh_error_detail());
	if (lh != NULL)
		is(lh_close(lh), 0, "and closed");
	_exit(tap_child_status());
}

static int
without_first_thread(void *arg)
{
	(void)arg;
	(void)t_thread(open_alone, NULL);
	pthread_exit(NULL);
}

static int
attached(void *arg)
{
	struct lh *lh = t_open(table), *again = NULL;
	struct lh_lease l, short_one;

	(void)arg;
	if (!t_mount("/proc", ""))
		return NO_NAMESPACE;
	is_refused(lh_open(&again, table, NULL), "opening the table again");
	is(t_acquire(lh, "outer", 1000, 15, &l), -ETIMEDOUT,
	    "what another process holds is held");
	is(t_acquire(lh, "own", 60000, 0, &l), 0, "a free key is acquired");
	is(lh_extend(lh, &l, 60000), 0, "extended");
	is(lh_verify(lh, &l), 0, "held");
	is(lh_release(lh, &l), 0, "and released");
	is(t_acquire(lh, "due", t_ms(20), 0, &short_one), 0, "a short lease");
	is(t_acquire(lh, "due", 60000, T_HANG_MS, &l), 0,
	    "ends when it is due, by the clock that it knew");
	is(lh_release(lh, &l), 0, "released");
	t_post(opened);
	ok(t_await(held, 1, T_HANG_MS), "another one holds a key, and dies");
	is(t_acquire(lh, "dying", 60000, T_HANG_MS, &l), 0,
	    "its death is found out");
	is(lh_close(lh), 0, "closed");
	return tap_child_status();
}

static int
die_holding(void *arg)
{
	struct lh *lh = t_open(table);

	(void)arg;
	(void)t_hold(lh, "dying");
	_exit(0);
}

static void
part(const char *what, int (*fn)(void *arg))
{
	int r = t_reap(t_fork(fn, NULL), T_HANG_MS);

	if (r == NO_NAMESPACE)
		skip(1, "%s: no such namespaces here", what);
	else
		is(r, 0, "%s", what);
}

int
main(void)
{
	struct lh_lease l;
	struct lh *lh;
	pid_t pid;
	int r;

	if (geteuid() != 0)
		skip_all("only root makes mount and time namespaces");
	table = t_table();
	unmade = t_table();
	opened = t_shared(sizeof(*opened));
	held = t_shared(sizeof(*held));
	lh = t_open(table);
	l = t_hold(lh, "outer");
	part("a newcomer", newcomer);
	part("a newcomer whose clock is a day ahead", a_day_ahead);
	part("the first thread has ended", without_first_thread);
	is(lh_verify(lh, &l), 0, "the lease is held");
	pid = t_fork(attached, NULL);
	if (t_await(opened, 1, T_HANG_MS / 2)) {
		is(t_reap(t_fork(die_holding, NULL), T_HANG_MS), 0,
		    "a holder ends");
		t_post(held);
	}
	r = t_reap(pid, T_HANG_MS);
	if (r == NO_NAMESPACE)
		skip(1, "no mount namespaces here");
	else
		is(r, 0, "an attached process went on");
	is(lh_verify(lh, &l), 0, "the lease is held");
	is(lh_release(lh, &l), 0, "and released");
	t_close(lh);
	return done();
}
