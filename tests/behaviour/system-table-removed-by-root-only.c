/* SPDX-License-Identifier: MIT */
/*
 * Issue 21 A1: a table of the machine is in root's directory.  Another user
 * whom its mode admits can use it, but can neither remove it nor make one, by
 * the library or by plain system calls.  The attempt changes nothing.
 *
 * Otherwise any user could take the machine's table away.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define NOBODY 65534
#define DIRECTORY "/dev/shm/leasehold.system"

static const char *table, *missing;

static struct lh *
open_system(void)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh = NULL;

	o.flags |= LH_SYSTEM;
	o.mode = 0666;
	is(lh_open(&lh, table, &o), 0, "opened: %s", lh_error_detail());
	return lh;
}

/* By system calls: makes, links, renames and removes nothing there. */
static void
change_directory(void)
{
	char object[200], other[200];

	snprintf(object, sizeof(object), "%s/%s.table", DIRECTORY, table);
	snprintf(other, sizeof(other), "%s/%s.table", DIRECTORY, missing);
	is(open(other, O_CREAT | O_RDWR, 0666), -1, "no file can be made");
	is(errno, EACCES, "for lack of permission");
	is(symlink("1", other), -1, "no symbolic link");
	is(link(object, other), -1, "no second name of the table");
	is(rename(object, other), -1, "the table cannot be moved");
	is(unlink(object), -1, "nor removed");
	is(errno, EACCES, "for lack of permission");
}

static int
as_nobody(void *unused)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh;

	(void)unused;
	if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
		bail_out("setuid");
	lh = open_system();
	is(lh_close(lh), 0, "root's table");
	is(lh_table_remove(table, LH_SYSTEM), -EACCES, "not to be removed: %s",
	    lh_error_detail());
	is(lh_table_remove(table, LH_SYSTEM | LH_FORCE), -EACCES,
	    "nor with force");
	change_directory();
	lh = open_system();
	if (lh != NULL)
		is(lh_close(lh), 0, "goes on");
	o.flags |= LH_SYSTEM;
	is(lh_open(&lh, missing, &o), -EACCES, "nor can nobody make one: %s",
	    lh_error_detail());
	return tap_child_status();
}

static void
tidy(const char *name)
{
	static const char *const kinds[] = { "table", "floor", "live" };
	char path[300];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), DIRECTORY "/%s.%s", name,
		    kinds[i]);
		t_remove_at_exit(path);
	}
}

int
main(void)
{
	struct lh *lh;

	table = t_table();
	missing = t_table();
	if (geteuid() != 0) {
		skip(1, "for root");
		return done();
	}
	tidy(table);
	lh = open_system();
	is(lh_close(lh), 0, "root's table");
	is(lh_table_remove(table, LH_SYSTEM), 0, "removed by root");
	lh = open_system();
	is(lh_close(lh), 0, "made again");
	is(t_reap(t_fork(as_nobody, NULL), T_HANG_MS), 0, "another user");
	is(lh_table_remove(table, LH_SYSTEM | LH_FORGET_TOKENS), 0,
	    "removed by root");
	return done();
}
