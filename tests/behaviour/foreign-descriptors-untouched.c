/* SPDX-License-Identifier: MIT */
/*
 * Issue 21 A8: a descriptor's number belongs to the library only while it means
 * what the library opened.  The application has closed everything and opened
 * files of its own, which got the same numbers.  The library does not pass one
 * of them on as a liveness descriptor, does not close one, and does not ask the
 * kernel about leases through one.
 *
 * Otherwise lh_close() would close the application's files, or a living holder
 * would count as dead.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/stat.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define FILES 24
#define ATTACHMENTS 3

static const char *table;

static struct lh *
open_with_liveness(void)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh = NULL;
	int r;

	o.flags = LH_LIVENESS_FD;
	r = lh_open(&lh, table, &o);
	if (r != 0)
		bail_out("lh_open: %s: %s", lh_strerror(r), lh_error_detail());
	return lh;
}

/* A file of the application's own under every number that is free. */
static int
open_files(int *fd, struct stat *st)
{
	if (close_range(3, ~0u, 0) != 0)
		closefrom(3);
	for (int i = 0; i < FILES; i++) {
		fd[i] = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (fd[i] < 0 || fstat(fd[i], &st[i]) != 0)
			return -errno;
	}
	return 0;
}

/* How many of them are still what they were? */
static int
untouched(const int *fd, const struct stat *was)
{
	struct stat st;
	int n = 0;

	for (int i = 0; i < FILES; i++)
		n += fstat(fd[i], &st) == 0 && st.st_ino == was[i].st_ino &&
		    st.st_dev == was[i].st_dev;
	return n;
}

static void
liveness_is_the_tables(struct lh *lh)
{
	struct stat st, table_st;
	int fd = lh_liveness_fd(lh);

	if (fd < 0) {
		ok(t_has_detail(), "no liveness descriptor, with a reason");
		return;
	}
	ok(fstat(fd, &st) == 0 && stat(t_object(table), &table_st) == 0 &&
	    st.st_ino == table_st.st_ino && st.st_dev == table_st.st_dev,
	    "the liveness descriptor is of the table");
	close(fd);
}

static int
close_all_and_reopen(void *arg)
{
	struct lh *lh[ATTACHMENTS];
	struct stat st[FILES];
	struct lh_lease l;
	int fd[FILES];

	(void)arg;
	for (int i = 0; i < ATTACHMENTS; i++)
		lh[i] = i % 2 == 0 ? open_with_liveness() : t_open(table);
	is(open_files(fd, st), 0, "the application's files");
	for (int i = 0; i < ATTACHMENTS; i += 2)
		liveness_is_the_tables(lh[i]);
	is(untouched(fd, st), FILES, "asked for liveness: all are untouched");
	for (int i = 0; i < ATTACHMENTS; i++)
		is(t_acquire(lh[i], "held", 1000, t_ms(25), &l), -ETIMEDOUT,
		    "a living holder is not taken for dead");
	is(untouched(fd, st), FILES, "in use: all are untouched");
	for (int i = 0; i < ATTACHMENTS; i++)
		is(lh_close(lh[i]), 0, "closed");
	is(untouched(fd, st), FILES, "closed: all are untouched");
	return tap_child_status();
}

/* The same, and attachments that are opened, and closed, beside the files. */
static int
open_beside_them(void *arg)
{
	struct stat st[FILES];
	struct lh *old, *new;
	int fd[FILES], live;

	(void)arg;
	old = open_with_liveness();
	is(open_files(fd, st), 0, "the application's files");
	new = open_with_liveness();
	live = lh_liveness_fd(new);
	cmp(live, >=, 0, "a new one has its liveness descriptor");
	close(live);
	is(lh_close(old), 0, "the old one closes");
	is(untouched(fd, st), FILES, "all are untouched");
	live = lh_liveness_fd(new);
	cmp(live, >=, 0, "the new one's, too");
	close(live);
	is(lh_close(new), 0, "closes");
	is(untouched(fd, st), FILES, "all are untouched");
	return tap_child_status();
}

int
main(void)
{
	struct lh_lease held;
	struct lh *lh;

	table = t_table();
	lh = t_open(table);
	held = t_hold(lh, "held");
	is(t_reap(t_fork(close_all_and_reopen, NULL), T_HANG_MS), 0,
	    "files under the library's numbers");
	is(t_reap(t_fork(open_beside_them, NULL), T_HANG_MS), 0,
	    "and a new attachment beside them");
	is(lh_verify(lh, &held), 0, "the holder holds");
	is(lh_release(lh, &held), 0, "and releases");
	t_close(lh);
	return done();
}
