/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12 and its limit, doc/security.md: a member that may write to a
 * table can change every word of it.  A member puts back the bytes from before
 * a holder's acquire, and acquires the key beside it.  The holder learns that
 * its lease is lost, and its own memory is untouched.  The member uses no
 * function of the library to change the bytes.  Needs root.
 *
 * Otherwise the document would promise less or more than the library holds.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define NOBODY 65534

static struct shared {
	struct t_event copied, held, taken;
} *sh;
static const char *table;
static char object[192];

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

static int
as_member(void *unused)
{
	struct lh_lease l;
	struct stat st;
	struct lh *lh;
	char *bytes;
	int fd;

	(void)unused;
	if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
		bail_out("setuid");
	lh = open_system();
	fd = open(object, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0 ||
	    (bytes = malloc((size_t)st.st_size)) == NULL)
		bail_out("open %s", object);
	is(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size,
	    "a member reads every byte");
	t_post(&sh->copied);
	ok(t_await(&sh->held, 1, T_HANG_MS), "root holds");
	is(t_acquire(lh, "k", 60000, 0, &l), -EAGAIN, "the key is held");
	is(pwrite(fd, bytes, (size_t)st.st_size, 0), st.st_size,
	    "the member writes every byte");
	is(t_acquire(lh, "k", 60000, 0, &l), 0, "and acquires the key: %s",
	    lh_error_detail());
	t_post(&sh->taken);
	free(bytes);
	close(fd);
	is(lh_release(lh, &l), 0, "released");
	is(lh_close(lh), 0, "closed");
	return tap_child_status();
}

int
main(void)
{
	struct lh_lease l, before;
	struct lh *lh;
	pid_t member;

	if (geteuid() != 0)
		skip_all("only root can be several users");
	table = t_table();
	snprintf(object, sizeof(object), "/dev/shm/leasehold.system/%s.table",
	    table);
	t_remove_at_exit(object);
	sh = t_shared(sizeof(*sh));
	lh = open_system();
	l = t_hold(lh, "k");
	is(lh_release(lh, &l), 0, "the key is there");
	member = t_fork(as_member, NULL);
	ok(t_await(&sh->copied, 1, T_HANG_MS), "the member has a copy");
	l = before = t_hold(lh, "k");
	t_post(&sh->held);
	ok(t_await(&sh->taken, 1, T_HANG_MS), "a second holder");
	is(lh_verify(lh, &l), -ESTALE, "the first holder's lease is lost: %s",
	    lh_error_detail());
	ok(memcmp(&l, &before, sizeof(l)) == 0,
	    "its own memory is as it was");
	is(t_reap(member, T_HANG_MS), 0, "the member");
	(void)lh_close(lh);
	is(lh_table_remove(table, LH_SYSTEM | LH_FORCE | LH_FORGET_TOKENS), 0,
	    "removed");
	return done();
}
