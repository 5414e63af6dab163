/* SPDX-License-Identifier: MIT */
/*
 * The probe: the descriptor through which this process asks which sessions
 * live.
 *
 * Each attachment opens two descriptions at lh_open(). One is locked and pinned
 * by the session.  The other, the probe, is kept for questions, so that a
 * process which later changes its user or root, or has no descriptor left, can
 * still prove a death.  The probe must hold no session's byte: through the
 * description that holds it, the answer is always "free". After a closefrom()
 * the probe's number may be a description that does.  Each description has its
 * own position, and nothing else here uses it.  So the probe's is set to a
 * random number, v->live_mark, and a descriptor is the probe only if device,
 * inode and position are right.  After the answer "free" this is checked once
 * more (session_liveness.c).
 *
 * A file system limits positions to the largest file that it can have (16 TiB
 * in ext4, 4 GiB in others), and lseek() fails beyond that.  So the mark is
 * below 2^31.  The locked bytes lie far beyond: byte locks have no such limit.
 *
 * A session's lock is kept by a mapping alone (prim/bytelock.h). That is no
 * rule of all file systems: a mapping of a file on overlayfs keeps the file
 * below it open, and the lock ends with the descriptor.  Then each living
 * session would count as dead.  So this is tried as a session does it: lock,
 * map, close, and ask through another description.
 *
 * A table is made or opened only where all three work (lhi_live_probe_attach(),
 * lhi_live_probe_try(), lhi_live_probe_keeps()).
 *
 * A probe that was lost is opened again by name, or through a remaining
 * descriptor.  If that fails nothing can be asked: the answer is "cannot tell",
 * and is counted (STAT_BLIND).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bsd/stdlib.h>
#include "base/error.h"
#include "prim/bytelock.h"
#include "prim/descriptor.h"
#include "shm/backing.h"
#include "shm/live_file.h"
#include "shm/table_dir.h"
#include "shm/table_place.h"

#define MARK_MAX INT32_MAX	/* a position that each file system takes */
#define TRIED_BYTE 0		/* of a file that has no name yet */

void
lhi_live_probe_know(struct lhi_view *v, int fd)
{
	struct stat st;

	(void)lhi_place_of(fd, &v->live);
	if (fstat(fd, &st) == 0) {
		v->live_uid = st.st_uid;
		v->others_write = st.st_mode & 0022;
	}
	arc4random_buf(&v->live_mark, sizeof(v->live_mark));
	v->live_mark = (v->live_mark & MARK_MAX) | 1;
	if (lhi_mutant_on(mark_beyond_ext4))
		v->live_mark |= INT64_C(1) << 45;
}

/* Gives fd that position.  0; -errno: its file system does not keep it. */
static int
set_mark(int fd, off_t mark)
{
	errno = EOPNOTSUPP;	/* it says something else */
	return lseek(fd, mark, SEEK_SET) == mark &&
	    lseek(fd, 0, SEEK_CUR) == mark ? 0 : -errno;
}

static int
fail_unable(const char *path, const char *what, int error)
{
	return lhi_fail(-EOPNOTSUPP, "the file system of %s cannot %s (%s), "
	    "so no death could be proved: mount a tmpfs on /dev/shm", path,
	    what, strerror(-error));
}

int
lhi_live_probe_attach(struct lhi_view *v, int fd)
{
	int error;

	lhi_live_probe_know(v, fd);
	error = set_mark(fd, v->live_mark);
	if (error != 0) {
		(void)close(fd);
		return fail_unable(v->path, "keep a position in a file", error);
	}
	atomic_store(&v->probe_fd, fd);
	return 0;
}

/* Fails, because a mapping keeps no lock.  held: what the kernel said. */
static int
fail_unkept(const char *path, int held)
{
	return fail_unable(path, "keep a byte lock through a mapping, once the "
	    "descriptor is closed", held < 0 ? held : -EOPNOTSUPP);
}

int
lhi_live_probe_keeps(struct lhi_view *v, off_t byte)
{
	int fd = lhi_live_probe_fd(v);
	int held = fd < 0 ? -errno : lhi_byte_held(fd, byte);

	return held == 1 ? 0 : fail_unkept(v->path, held);
}

/* Tries with `other`, a description of a new file, whether a mapping keeps its
 * lock.  Asks through fd, which is another.  Closes `other`. */
static int
try_mapping(const char *path, int fd, int other)
{
	int error = lhi_byte_lock(other, TRIED_BYTE), held;
	void *pin = error == 0 ? lhi_byte_pin(other) : NULL;

	if (error == 0 && pin == NULL)
		error = -errno;
	(void)close(other);
	if (error == -ENOMEM)	/* says nothing of the file system */
		return lhi_backing_fail_map(path,
		    (uint64_t)sysconf(_SC_PAGESIZE));
	if (error != 0)
		return fail_unable(path, "lock and map a file", error);
	held = lhi_byte_held(fd, TRIED_BYTE);
	lhi_byte_unpin(pin);
	return held == 1 ? 0 : fail_unkept(path, held);
}

int
lhi_live_probe_try(const char *path, int fd)
{
	char self[40];
	int other, held, error;

	(void)snprintf(self, sizeof(self), "/proc/thread-self/fd/%d", fd);
	other = lhi_fd_open(self, O_RDWR | O_CLOEXEC);
	if (other < 0)
		return lhi_fail(-errno, "cannot open a new file beside %s "
		    "again: %s (is /proc mounted?)", path, strerror(errno));
	error = set_mark(other, MARK_MAX);
	held = lhi_bytes_held(other, 0, 0);	/* any byte */
	if (error == 0 && held == 1)
		return try_mapping(path, fd, other);
	(void)close(other);
	if (error != 0)
		return fail_unable(path, "keep a position in a file", error);
	return fail_unable(path, "show a byte lock to another description",
	    held < 0 ? held : -EOPNOTSUPP);
}

bool
lhi_live_file_is(const struct lhi_view *v, int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 &&
	    (lhi_mutant_on(object_unchecked) ||
	    (st.st_dev == v->live.device && st.st_ino == v->live.inode));
}

/* The same for one that was opened just now, by a name that may be another
 * file's since: another file with that inode number is refused. */
static bool
is_same_file(const struct lhi_view *v, int fd)
{
	struct lhi_place now;

	return lhi_live_file_is(v, fd) && (lhi_mutant_on(object_unchecked) ||
	    (lhi_place_of(fd, &now) == 0 &&
	    lhi_place_compare(&v->live, &now) == LHI_PLACE_SAME));
}

bool
lhi_live_probe_is(const struct lhi_view *v, int fd)
{
	return lhi_live_file_is(v, fd) && (lhi_mutant_on(any_description) ||
	    lseek(fd, 0, SEEK_CUR) == v->live_mark);
}

int
lhi_live_probe_fd(struct lhi_view *v)
{
	int fd = atomic_load(&v->probe_fd), again;

	if (lhi_live_probe_is(v, fd))
		return fd;
	again = lhi_live_file_reopen(v);
	if (again < 0)
		return -1;
	if (set_mark(again, v->live_mark) != 0) {
		(void)close(again);
		return -1;
	}
	if (atomic_compare_exchange_strong(&v->probe_fd, &fd, again))
		return again;
	(void)close(again);
	fd = atomic_load(&v->probe_fd);		/* another thread's */
	errno = ESTALE;
	return lhi_live_probe_is(v, fd) ? fd : -1;
}

int
lhi_live_file_reopen(struct lhi_view *v)
{
	char leaf[TABLE_LEAF_MAX], to[sizeof(v->path) + TABLE_LEAF_MAX + 1];
	int fd, error;
	size_t n;

	lhi_table_dir_path(to, sizeof(v->path), v->path);
	lhi_live_file_leaf(leaf, v->path, v->uuid[0]);
	n = strlen(to);
	(void)snprintf(to + n, sizeof(to) - n, "/%s", leaf);
	fd = lhi_fd_open(to, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (is_same_file(v, fd))
		return fd;
	error = fd < 0 ? errno : ESTALE;
	if (fd >= 0)
		(void)close(fd);
	/* the name is gone: through the descriptor that we have */
	(void)snprintf(to, sizeof(to), "/proc/thread-self/fd/%d",
	    atomic_load(&v->probe_fd));
	fd = lhi_fd_open(to, O_RDWR | O_CLOEXEC);
	if (is_same_file(v, fd))
		return fd;
	if (fd >= 0)
		(void)close(fd);
	errno = error;
	return -1;
}
