/* SPDX-License-Identifier: MIT */
/*
 * Descriptors of the library's own: never 0, 1 or 2.
 *
 * A program may run with its standard descriptors closed.  The kernel gives the
 * lowest free number, so a table opened then would be the program's standard
 * output, and whatever the program prints would overwrite the table for
 * everybody.
 *
 * Moving the descriptor up afterwards is too late: another thread may print in
 * between.  So the free ones among 0 to 2 are filled first, with descriptors
 * that nothing can be read from or written to (O_PATH: EBADF, which is what a
 * closed descriptor answers), and emptied again afterwards.  A filler that
 * another thread has replaced meanwhile (dup2) is left alone.
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

/* Empties the fillers' places.  Returns fd, moved up if one could not be
 * filled; or -1 with errno. */
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
