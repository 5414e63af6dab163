/* SPDX-License-Identifier: MIT */
/*
 * Directories of ranges: their paths, how they are made, and whether one can be
 * trusted.  Also the system calls of range.c.
 *
 * The path comes from a table's header, which others may have written.  So a
 * directory is used only if it belongs to this user, to root, or to a group of
 * ours that may write to it, and others may not write to it.  Symbolic links in
 * it are never followed.  So nobody can make this process write to a place of
 * their choice.
 *
 * Directories are made only when a table is made.  A process that made a
 * missing directory again later would start at the first number, with tokens
 * that were issued before.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/error.h"
#include "prim/descriptor.h"
#include "prim/file_owner.h"
#include "fence/range.h"

static int
sys_open(int dir, const char *name, int flags, mode_t mode)
{
	return lhi_fd_openat(dir, name, flags, mode);
}

static int
sys_link(int dir, const char *from, const char *to)
{
	return linkat(dir, from, dir, to, 0);
}

static int
sys_unlink(int dir, const char *name)
{
	return unlinkat(dir, name, 0);
}

static ssize_t
sys_getdents(int fd, void *buf, size_t len)
{
	return syscall(SYS_getdents64, fd, buf, len);
}

#ifdef LHI_HOOKS
unsigned lhi_range_bits = RANGE_BITS;
struct lhi_range_sys lhi_range_sys = {
#else
const struct lhi_range_sys lhi_range_sys = {
#endif
	.open = sys_open,
	.pwrite = pwrite,
	.fdatasync = fdatasync,
	.link = sys_link,
	.fsync = fsync,
	.unlink = sys_unlink,
	.mkdir = mkdir,
	.rmdir = rmdir,
	.getdents = sys_getdents,
};

static int
report_open_error(const char *dir, int error)
{
	switch (error) {
	case ENOENT:
		return lhi_fail(-ENOENT, "the directory of token ranges, %s, "
		    "is missing; restore it from a backup, or create it again, "
		    "empty, with the same owner", dir);
	case ENOTDIR:
	case ELOOP:
		return lhi_fail(-ENOTDIR, "%s must be the directory of token "
		    "ranges, but it is no directory, or a symbolic link; move "
		    "it away", dir);
	case EACCES:
		return lhi_fail(-EACCES, "no permission to use the directory "
		    "of token ranges, %s; give this user write permission",
		    dir);
	default:
		return lhi_fail(-error, "cannot open the directory of token "
		    "ranges, %s: %s", dir, strerror(error));
	}
}

static bool
is_own_group(gid_t gid)
{
	gid_t groups[256];
	int n = lhi_gid_is_sure(gid) ? getgroups(256, groups) : -1;

	if (n < 0)
		return false;
	while (n-- > 0) {
		if (groups[n] == gid)
			return true;
	}
	return gid == getegid();
}

int
lhi_range_open_dir(const char *dir, mode_t *mode)
{
	int fd =
	    lhi_fd_open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0)
		return report_open_error(dir, errno);
	if (fstat(fd, &st) == 0 && !(st.st_mode & S_IWOTH) &&
	    (lhi_owner_is_self(fd, &st) || st.st_uid == 0 ||
	    ((st.st_mode & S_IWGRP) && is_own_group(st.st_gid)))) {
		*mode = st.st_mode & S_IWGRP ? 0640 : 0600;
		return fd;
	}
	(void)close(fd);
	return lhi_fail(-EACCES, "the directory of token ranges, %s, belongs "
	    "to user %u with mode %03o; it must belong to this user, to root, "
	    "or to a group of this user with write permission, and must not be "
	    "writable by others", dir, (unsigned)st.st_uid,
	    (unsigned)st.st_mode & 0777);
}

int
lhi_range_may_write(const char *dir)
{
	const char *remedy;
	int saved = errno, error = 0;
	mode_t mode;
	int fd = lhi_range_open_dir(dir, &mode);

	if (fd < 0)
		return fd;
	/* (it says EROFS as well) */
	if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) != 0)
		error = -errno;
	(void)close(fd);
	errno = saved;
	remedy = error == -EROFS ? "mount it writable" :
	    "give this user write permission";
	return error == 0 ? 0 : lhi_fail(error, "the directory of token "
	    "ranges, %s, cannot be written to: %s; %s", dir, strerror(-error),
	    remedy);
}

int
lhi_range_dir(char to[RANGE_PATH_MAX], const char *fence_dir,
    const char *object_path)
{
	static const char suffix[] = ".table";
	const char *leaf = strrchr(object_path, '/'), *dir;
	size_t len, end = sizeof(suffix) - 1;
	int n;

	if (fence_dir[0] != '/')
		return lhi_fail(-EINVAL, "fence directory '%s' is not an "
		    "absolute path", fence_dir);
	/* .../leasehold.0/NAME.table becomes leasehold.0.NAME.fence */
	leaf = leaf == NULL ? object_path : leaf + 1;
	dir = leaf > object_path ? leaf - 1 : leaf;
	while (dir > object_path && dir[-1] != '/')
		dir--;
	len = strlen(leaf);
	if (len > end && strcmp(leaf + len - end, suffix) == 0)
		len -= end;
	n = snprintf(to, RANGE_PATH_MAX, "%s/%.*s.%.*s.fence", fence_dir,
	    leaf > dir ? (int)(leaf - dir - 1) : 0, dir, (int)len, leaf);
	return n > 0 && n < RANGE_PATH_MAX ? 0 : lhi_fail(-ENAMETOOLONG,
	    "the path of the fence directory %s is too long; name another one",
	    fence_dir);
}

/*
 * Syncs the parent directory of `path`.
 *
 * Even if another process made `path`, it may not have synced it yet, so what
 * others have seen may not be on disk.  An unreadable or unwritable parent is
 * no error: then none of our processes made anything in it.
 */
static int
sync_parent(const char *path)
{
	char parent[RANGE_PATH_MAX];
	char *slash;
	int fd, error = 0;

	(void)snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	slash[slash == parent] = '\0';
	fd = lhi_fd_open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 ? errno != EACCES : lhi_range_sys.fsync(fd) != 0 &&
	    errno != EROFS && errno != EINVAL)
		error = lhi_fail(-errno, "cannot sync the directory %s: %s; "
		    "check the disk, or use another fence directory", parent,
		    strerror(errno));
	if (fd >= 0)
		(void)close(fd);
	return error;
}

/* Gives the directory to the group, if it belongs to this user and that was not
 * done yet.  An earlier process may have been killed before it did that. */
static int
give_to_group(const char *dir, gid_t group)
{
	int fd =
	    lhi_fd_open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int error = 0;

	if (fd < 0)
		return report_open_error(dir, errno);
	if (fstat(fd, &st) == 0 && lhi_owner_is_self(fd, &st) &&
	    !(st.st_mode & S_IWGRP) && (fchown(fd, (uid_t)-1, group) != 0 ||
	    fchmod(fd, 02770) != 0))
		error = lhi_fail(-errno, "cannot give %s to group %u: %s", dir,
		    (unsigned)group, strerror(errno));
	(void)close(fd);
	return error;
}

/* Makes the directory above, and so on. *made: it was missing. */
static int
make_parent(const char *dir, unsigned parents, bool for_group, bool *made)
{
	char parent[RANGE_PATH_MAX];
	char *slash;
	int error;

	(void)snprintf(parent, sizeof(parent), "%s", dir);
	slash = strrchr(parent, '/');
	if (parents == 0 || slash == parent)
		return 0;
	*slash = '\0';
	*made = access(parent, F_OK) != 0;
	error = lhi_range_make_dir(parent, (gid_t)-1, parents - 1);
	if (error == 0 && *made && for_group)
		(void)chmod(parent, 0755);	/* lets the group reach `dir` */
	return error;
}

int
lhi_range_make_dir(const char *dir, gid_t group, unsigned parents)
{
	bool for_group = group != (gid_t)-1, made = false;
	int saved = errno, error;

	error = make_parent(dir, parents, for_group, &made);
	if (error != 0) {
		errno = saved;
		return error;
	}
	made = lhi_range_sys.mkdir(dir, 0700) == 0;
	if (!made && errno != EEXIST)
		error = lhi_fail(-errno, "cannot create the directory of token "
		    "ranges, %s: %s; create it, or name another fence "
		    "directory", dir, strerror(errno));
	if (error == 0 && for_group)
		error = give_to_group(dir, group);
	if (error == 0)
		error = sync_parent(dir);
	/* a second sync of the parent may report success without having written
	 * anything: remove the directory, so that the next process makes it
	 * again */
	if (error != 0 && made)
		(void)lhi_range_sys.rmdir(dir);
	errno = saved;
	return error;
}
