/* SPDX-License-Identifier: MIT */
/*
 * Opens the library's descriptors so that they are never 0, 1 or 2.  Every file
 * of the library that opens something calls it.
 *
 * A program may run with its standard descriptors closed.  The kernel gives the
 * lowest free number.  So a table could become the program's standard output,
 * and everything that the program prints would overwrite the table.
 *
 * Moving a descriptor up afterwards is too late, because another thread may
 * print in between.  So the free descriptors among 0 to 2 are first filled with
 * descriptors that can be neither read nor written (O_PATH: EBADF, as for a
 * closed descriptor).  Afterwards these are closed again.  A filler that
 * another thread has replaced in the meantime (dup2) is left alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include "prim/descriptor.h"

#define STANDARD 3

struct fillers {
	int fd[STANDARD];
	int n;
};

/* Fills the free descriptors among 0, 1 and 2. */
static void
fill_standard(struct fillers *f)
{
	f->n = 0;
	for (int fd = 0; fd < STANDARD; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		f->fd[f->n] = open("/", O_PATH | O_CLOEXEC);
		if (f->fd[f->n] >= 0)
			f->n++;
	}
}

/* Closes the fillers.  Returns fd, moved up if it is below 3 because a place
 * could not be filled; or -1 with errno. */
static int
empty_standard(const struct fillers *f, int fd)
{
	int error = errno;

	if (fd >= 0 && fd < STANDARD) {
		int cloexec = fcntl(fd, F_GETFD) & FD_CLOEXEC;
		int up = fcntl(fd, cloexec ? F_DUPFD_CLOEXEC : F_DUPFD,
		    STANDARD);

		error = errno;
		(void)close(fd);
		fd = up;
	}
	for (int i = 0; i < f->n; i++) {
		int flags = fcntl(f->fd[i], F_GETFL);

		if (flags >= 0 && (flags & O_PATH))
			(void)close(f->fd[i]);
	}
	errno = error;
	return fd;
}

int
lhi_fd_openat(int dir, const char *path, int flags, mode_t mode)
{
	struct fillers f;

	fill_standard(&f);
	return empty_standard(&f, openat(dir, path, flags, mode));
}

int
lhi_fd_open(const char *path, int flags)
{
	return lhi_fd_openat(AT_FDCWD, path, flags, 0);
}

int
lhi_fd_event(void)
{
	struct fillers f;

	fill_standard(&f);
	return empty_standard(&f, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

int
lhi_fd_socket(int type)
{
	struct fillers f;

	fill_standard(&f);
	return empty_standard(&f, socket(AF_UNIX, type, 0));
}

bool
lhi_fd_may_write(uint64_t len)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur >= len)
		return true;
	errno = EFBIG;
	return false;
}

int
lhi_fd_copy(int fd)
{
	return fcntl(fd, F_DUPFD, STANDARD);
}
