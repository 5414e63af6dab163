/* SPDX-License-Identifier: MIT */
/*
 * Answers "am I the only one who removes this table's name?"
 *
 * A remover looks whether the name is the table's that it means, then unlinks
 * the name.  In between nobody else may unlink it and give it to a new table.
 * So a remover holds a lock.  It stands on a file that nobody but the
 * directory's owner (or root) can open, NAME.removal: members of the table, and
 * those who may only read it, cannot keep the owner from removing it.
 *
 * The file is made when it is wanted and unlinked by the holder of the lock
 * before it gives that up.  A process may open it just before that and lock it
 * afterwards, when another process has made and locked the next one.  So the
 * lock counts only if the file still has the name after it was locked.
 *
 * A crash leaves the file, unlocked; the next remover takes it.  A remover that
 * is stopped keeps others from removing that table, and from nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "prim/bytelock.h"
#include "prim/descriptor.h"
#include "prim/shared.h"
#include "shm/removal_lock.h"
#include "shm/table_dir.h"

#define TRIES 100	/* each time another removal came to its end */
#define FLAGS (O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)

static bool
has_name(int dir, const char *leaf, int fd)
{
	struct stat opened, named;

	return fstat(fd, &opened) == 0 && S_ISREG(opened.st_mode) &&
	    fstatat(dir, leaf, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	    opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

static int
lock_in(int dir, const char *path)
{
	char leaf[TABLE_LEAF_MAX];
	int error = -EAGAIN;

	lhi_table_dir_beside(leaf, path, ".removal");
	for (int i = 0; i < TRIES; i++) {
		int fd = lhi_fd_openat(dir, leaf, FLAGS, 0600);

		if (fd < 0)
			return lhi_fail(-errno, "cannot make %s beside %s: %s",
			    leaf, path, strerror(errno));
		lhi_point("removal.opened");
		error = lhi_byte_lock(fd, 0);
		if (error == 0 && (has_name(dir, leaf, fd) ||
		    lhi_mutant_on(lock_unnamed)))
			return fd;
		(void)close(fd);
		if (error != 0)
			break;
		error = -EAGAIN;
	}
	return error == -EAGAIN ? error : lhi_fail(error, "cannot lock %s "
	    "beside %s: %s", leaf, path, strerror(-error));
}

int
lhi_removal_lock(const char *path)
{
	int dir, fd;

	/* before anything is changed */
	if (geteuid() != 0 && lhi_table_dir_is_system(path))
		return lhi_fail(-EACCES, "%s is a table of the machine: only "
		    "root can remove or repair it", path);
	dir = lhi_table_dir_open(path, false);
	if (dir < 0)
		return dir;
	fd = lock_in(dir, path);
	(void)close(dir);
	return fd;
}

void
lhi_removal_unlock(const char *path, int lock)
{
	int dir = lhi_table_dir_open(path, false);
	char leaf[TABLE_LEAF_MAX];

	lhi_table_dir_beside(leaf, path, ".removal");
	if (dir >= 0) {
		(void)unlinkat(dir, leaf, 0);
		(void)close(dir);
	}
	/* a child that was forked meanwhile may have the description, too */
	(void)lhi_bytes_unlock(lock);
	(void)close(lock);
}
