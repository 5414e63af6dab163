/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4, its safe side: the application closes every descriptor, and
 * then opens the table once more; the new attachment gets the numbers that the
 * old one had.  Closing the old one takes nothing from the new one, and neither
 * counts as dead.
 *
 * Otherwise lh_close() would close descriptors of another attachment, whose
 * leases would then be freed.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

int
main(void)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *old, *young;
	const char *table = t_table();
	struct lh_lease a, b, c;
	struct t_actor *other;
	int fd;

	o.flags |= LH_LIVENESS_FD;
	is(lh_open(&old, table, &o), 0, "one attachment");
	is(t_acquire(old, "a", 60000, 0, &a), 0, "which holds a");
	other = t_actor(table);
	(void)syscall(SYS_close_range, 20, ~0U, 0);
	for (fd = 3; fd < 20; fd++) {
		char path[64], to[256];
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, to, sizeof(to) - 1);
		to[n > 0 ? n : 0] = '\0';
		if (strstr(to, "leasehold") != NULL ||
		    strstr(to, "socket:") != NULL)
			(void)close(fd);
	}
	is(lh_open(&young, table, &o), 0, "and another, after closefrom()");
	is(t_acquire(young, "b", 60000, 0, &b), 0, "which holds b");
	is(lh_liveness_fd(old), -EBADF, "the old one's descriptor is gone");
	is(lh_close(old), 0, "the old one is closed");
	fd = lh_liveness_fd(young);
	cmp(fd, >=, 0, "the new one's is there");
	(void)close(fd);
	is(t_do_acquire(other, "b", 1000, 0), -EAGAIN, "b is held still");
	is(t_do_acquire(other, "a", 1000, 0), 0, "a is free");
	is(t_do_release(other), 0, "and released");
	is(t_acquire(young, "c", 60000, 0, &c), 0, "it goes on");
	is(lh_release(young, &b), 0, "and gives back");
	is(lh_release(young, &c), 0, "both");
	t_actor_end(other);
	t_close(young);
	return done();
}
