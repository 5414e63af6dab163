/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4, lh_liveness_fd(): the application closes every descriptor and
 * opens files of its own; the library opens another descriptor, which gets the
 * number of the old liveness descriptor.  lh_liveness_fd() does not return that
 * number.
 *
 * Otherwise a child would keep a file open that keeps nobody alive, and its key
 * would be freed while it works.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "support/support.h"
#include "tap.h"

#define NUMBERS 16

/* The library's descriptors. */
static int
numbers(int *fds)
{
	char path[64], to[256];
	ssize_t len;
	int n = 0;

	for (int fd = 3; fd < 200 && n < NUMBERS; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		len = readlink(path, to, sizeof(to) - 1);
		to[len > 0 ? len : 0] = '\0';
		if (strstr(to, "/leasehold.") != NULL ||
		    strstr(to, "socket:") != NULL)
			fds[n++] = fd;
	}
	return n;
}

int
main(void)
{
	int null = open("/dev/null", O_RDONLY), fds[NUMBERS], n, kept = 0;
	struct lh_open_opts o = t_open_opts();
	struct lh *lh;

	(void)dup2(null, 300);
	(void)close(null);
	o.flags |= LH_LIVENESS_FD;
	is(lh_open(&lh, t_table(), &o), 0, "a table");
	n = numbers(fds);
	cmp(n, >=, 2, "%d descriptors", n);
	while (dup(300) < fds[n - 1])	/* no lower number is free */
		;
	/* all but one of their numbers are the application's: what the library
	 * opens gets that one, each in turn */
	for (int hole = 0; hole < n; hole++) {
		char name[16];
		int fd;

		for (int i = 0; i < n; i++)
			(void)dup2(300, fds[i]);
		(void)close(fds[hole]);
		snprintf(name, sizeof(name), "new-%d", hole);
		is(lh_key_create(lh, name), 0, "it opens the table again");
		fd = lh_liveness_fd(lh);
		kept += fd >= 0;
		if (fd >= 0)
			(void)close(fd);
	}
	is(kept, 0, "and never hands that out");
	is(lh_liveness_fd(lh), -EBADF, "but says that it is gone");
	t_close(lh);
	return done();
}
