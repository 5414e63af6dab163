/* SPDX-License-Identifier: MIT */
/*
 * A system-wide table that was removed by one user leaves a floor that another
 * one cannot replace (/dev/shm is sticky).  He who cannot is refused before
 * anything has changed: the table goes on, and can be opened.
 */
#include <errno.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define NOBODY 65534

static const char *table;

static struct lh *
open_system(void)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh = NULL;

	o.flags |= LH_SYSTEM;
	is(lh_open(&lh, table, &o), 0, "opened: %s", lh_error_detail());
	return lh;
}

static int
as_nobody(void *unused)
{
	struct lh *lh;

	(void)unused;
	if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
		bail_out("setuid");
	lh = open_system();
	is(lh_close(lh), 0, "another user's table");
	is(lh_table_remove(table, LH_SYSTEM), -EACCES, "not to be removed: %s",
	    lh_error_detail());
	lh = open_system();
	if (lh != NULL)
		is(lh_close(lh), 0, "goes on");
	return tap_child_status();
}

int
main(void)
{
	static char path[300], floor[300];
	struct lh *lh;

	table = t_table();
	if (geteuid() != 0) {
		skip(1, "for root");
		return done();
	}
	snprintf(path, sizeof(path), "/dev/shm/leasehold.system.%s", table);
	t_remove_at_exit(path);
	snprintf(floor, sizeof(floor), "/dev/shm/leasehold-floor.system.%s",
	    table);
	t_remove_at_exit(floor);
	lh = open_system();
	is(lh_close(lh), 0, "root's table");
	is(lh_table_remove(table, LH_SYSTEM), 0, "removed by root");
	is(t_reap(t_fork(as_nobody, NULL), T_HANG_MS), 0, "another user");
	return done();
}
