/* SPDX-License-Identifier: MIT */
/*
 * A table's memory for inspection: lets the code that walks through tables walk
 * through this one without changing it.
 *
 * That code takes a view, and some of it completes half-done changes.  So it is
 * given private memory:
 *
 *	a table in use	a private mapping of its object: the stores of others
 *			are visible, ours are not
 *	an image	a copy of the file's data, read into memory of our own.
 *			Holes in the file stay holes; another process may
 *			shorten the file meanwhile, which affects only the copy
 *
 * The view has no descriptor and no inode, so that no session is declared dead,
 * and its path is for messages.
 *
 * An image of another boot or time namespace has a clock of its own, which no
 * process can ask.  Nothing in it is judged by the time now (foreign_clock).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bsd/string.h>
#include <leasehold/error.h>
#include "offline/image.h"
#include "base/error.h"
#include "prim/descriptor.h"
#include "prim/sigbus.h"
#include "proc/map.h"
#include "shm/backing.h"
#include "shm/live_file.h"
#include "shm/table_object.h"
#include "shm/table_place.h"

/* Reads the data between from and to. Returns 0, -errno. */
static int
read_span(int fd, char *base, off_t from, off_t to)
{
	while (from < to) {
		ssize_t n = pread(fd, base + from, (size_t)(to - from), from);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? -EPROTO : -errno;
		from += n;
	}
	return 0;
}

static int
read_all(int fd, char *base, off_t len)
{
	off_t from = 0, to;
	int error = 0;

	while (error == 0 && from < len) {
		from = lseek(fd, from, SEEK_DATA);
		if (from < 0)
			return errno == ENXIO ? 0 : -errno;
		to = lseek(fd, from, SEEK_HOLE);
		if (to < 0)
			return -errno;
		error = read_span(fd, base, from, to < len ? to : len);
		from = to;
	}
	return error;
}

static int
map_or_read(struct lhi_image *im, int fd, const char *path,
    const struct lhi_geometry *g)
{
	int flags = im->live ? MAP_PRIVATE | MAP_NORESERVE :
	    MAP_PRIVATE | MAP_NORESERVE | MAP_ANONYMOUS, error;

	im->base = lhi_sigbus_map(g->object_len, flags, im->live ? fd : -1);
	if (im->base == MAP_FAILED)
		return lhi_backing_fail_map(path, g->object_len);
	error = im->live ? 0 : read_all(fd, im->base, (off_t)g->object_len);
	if (error == 0)
		return 0;
	lhi_sigbus_unmap(im->base, g->object_len);
	return lhi_fail(error, "cannot read %s: %s", path, error == -EPROTO ?
	    "it has become shorter" : strerror(-error));
}

static int
open_file(struct lhi_image *im, int fd, const char *path)
{
	struct shm_header h;
	struct lhi_geometry g;
	struct lhi_place live;
	struct stat st;
	int error;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return lhi_fail(-EPROTO, "%s is not a regular file", path);
	if (pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h))
		return lhi_fail(-EPROTO, "%s has %lld bytes: too short for a "
		    "table", path, (long long)st.st_size);
	error = lhi_object_check(&h, path, st.st_size, &g);
	if (error != 0)
		return error;
	if (im->live && !lhi_backing_backed(fd, &h, &g))
		return lhi_fail(-EPROTO, "%s is not backed by memory as far "
		    "as it should be: look at it as an image", path);
	error = map_or_read(im, fd, path, &g);
	if (error != 0)
		return error;
	live = lhi_place_live(&h);
	if (im->live && lhi_live_file_look(path, fd, sh64_load(&h.uuid[0]),
	    &live) != 0)
		(void)strlcpy(im->lost, lh_error_detail(), sizeof(im->lost));
	lhi_view_point(&im->v, im->base, &g);
	lhi_view_set_uuid(&im->v, (const uint64_t[]){ sh64_load(&h.uuid[0]),
	    sh64_load(&h.uuid[1]) });
	im->v.t0_ns = (int64_t)sh64_load(&h.t0_ns);
	im->v.order = sh32_load(&h.order);
	im->v.clock = (clockid_t)sh32_load(&h.clock_id);
	im->v.foreign_clock = !im->live && !(lhi_view_same_time(&im->v) &&
	    lhi_place_is_of_this_boot(&h));
	atomic_store(&im->v.object_fd, -1);
	atomic_store(&im->v.probe_fd, -1);
	(void)strlcpy(im->v.path, path, sizeof(im->v.path));
	return 0;
}

int
lhi_image_open(struct lhi_image *im, const char *path, bool live)
{
	int saved = errno, fd, error;

	memset(im, 0, sizeof(*im));
	im->live = live;
	fd = live ? lhi_object_open_any(path, O_RDONLY) :
	    lhi_fd_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		error = live ? fd : lhi_fail(errno == EPERM ? -EACCES :
		    -errno, "cannot open %s: %s", path, strerror(errno));
	} else {
		error = open_file(im, fd, path);
		(void)close(fd);
	}
	errno = saved;
	return error;
}

void
lhi_image_close(struct lhi_image *im)
{
	lhi_sigbus_unmap(im->base, im->v.geo.object_len);
}

bool
lhi_image_has_our_clock(const struct lhi_image *im)
{
	return im->live && lhi_view_same_time(&im->v);
}
