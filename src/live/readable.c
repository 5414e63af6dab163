/* SPDX-License-Identifier: MIT */
/*
 * A descriptor that is readable while there is an event: an eventfd.  The
 * application may have closed it (closefrom) and its number may be another file
 * by now.  So a file with another inode than the opened one is left alone.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "live/readable.h"
#include "prim/descriptor.h"

int
lhi_readable_open(struct lhi_readable *r, const char *whose)
{
	int saved = errno, error = 0;
	struct stat st;

	r->fd = lhi_fd_event();
	if (r->fd < 0 || fstat(r->fd, &st) != 0) {
		error = lhi_fail(-errno, "cannot get a descriptor for %s: %s",
		    whose, strerror(errno));
	} else {
		r->dev = st.st_dev;
		r->ino = st.st_ino;
	}
	errno = saved;
	return error;
}

static bool
is_own_fd(const struct lhi_readable *r)
{
	struct stat st;

	return fstat(r->fd, &st) == 0 && st.st_dev == r->dev &&
	    st.st_ino == r->ino;
}

/* An eventfd that has room takes it; one that is already set may refuse. */
void
lhi_readable_raise(const struct lhi_readable *r)
{
	const uint64_t one = 1;
	int saved = errno;

	if (is_own_fd(r) && write(r->fd, &one, sizeof(one)) < 0)
		errno = saved;
	errno = saved;
}

void
lhi_readable_lower(const struct lhi_readable *r)
{
	int saved = errno;
	uint64_t n;

	if (is_own_fd(r) && read(r->fd, &n, sizeof(n)) < 0)
		errno = saved;
	errno = saved;
}

void
lhi_readable_close(const struct lhi_readable *r)
{
	int saved = errno;

	if (is_own_fd(r))
		(void)close(r->fd);
	errno = saved;
}
