/* SPDX-License-Identifier: MIT */
/*
 * The removal lock: one remover of a table's name at a time.
 *
 * A remover checks whether the name belongs to its table, then unlinks the
 * name.  In between no other process may unlink it and give it to a new table.
 * So a remover holds a lock.  It is on a file that only the table's owner (or
 * root) can open, NAME.removal: members of the table, and users who may only
 * read it, cannot prevent the owner from removing it.
 *
 * The file is made when it is needed and unlinked by the holder of the lock
 * before it gives that up.  A process may open it just before that and lock it
 * afterwards, when another process has made and locked the next one.  So the
 * lock counts only if the file still has the name after it was locked.
 *
 * The directory of the machine's tables is root's.  The owner that root's
 * configuration names can make and unlink nothing there.  So root makes the
 * file for that owner, together with the table, and it stays until root removes
 * the table.  Root does not trust the content of such a file.
 *
 * A crash leaves the file, unlocked; the next remover takes it.  A stopped
 * remover prevents others from removing that table, and nothing else.  It
 * writes its pid and pid namespace into the file, so that they can name it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/process.h"
#include "base/procstat.h"
#include "prim/bytelock.h"
#include "prim/descriptor.h"
#include "prim/file_owner.h"
#include "prim/shared.h"
#include "shm/removal_lock.h"
#include "shm/table_dir.h"
#include "shm/table_words.h"

#define OWNER_MAX 48	/* of the text that names the holder of the lock */
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

/* Writes the holder of the lock into the locked file.  (If it fails, no holder
 * can be named.) */
static void
write_own_pid(int fd)
{
	char text[OWNER_MAX];
	struct rlimit most;
	int n;

	n = snprintf(text, sizeof(text), "%d %" PRIu64 "\n", (int)getpid(),
	    lhi_process_pid_ns());
	/* a write beyond the limit (ulimit -f) would raise SIGXFSZ */
	if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < OWNER_MAX)
		return;
	if (ftruncate(fd, 0) == 0)
		(void)!pwrite(fd, text, (size_t)n, 0);
}

/* True if this process may make and unlink names in that directory. */
static bool
is_ours(int dir)
{
	struct stat st;

	return geteuid() == 0 || (fstat(dir, &st) == 0 &&
	    lhi_owner_is_self(dir, &st));
}

/* Reads which process has the lock; 0: not known here. */
static pid_t
read_owner(int dir, const char *leaf)
{
	int fd = lhi_fd_openat(dir, leaf, O_RDONLY | O_CLOEXEC | O_NOFOLLOW |
	    O_NONBLOCK, 0), pid = 0;
	char text[OWNER_MAX] = "";
	struct stat st = { .st_uid = 0 };
	uint64_t ns = 0;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0 &&
	    (st.st_uid == 0 || lhi_owner_is_self(fd, &st)) &&
	    pread(fd, text, sizeof(text) - 1, 0) > 0 &&
	    (sscanf(text, "%d %" SCNu64, &pid, &ns) != 2 || pid < 1 ||
	    ns == 0 || ns != lhi_process_pid_ns()))
		pid = 0;
	(void)close(fd);
	return pid;
}

static int
lock_in(int dir, const char *path)
{
	char leaf[TABLE_LEAF_MAX];
	int error = -EAGAIN;
	struct stat st;

	lhi_table_dir_beside(leaf, path, ".removal");
	for (int i = 0; i < TRIES; i++) {
		int fd = lhi_fd_openat(dir, leaf, is_ours(dir) ? FLAGS :
		    FLAGS & ~O_CREAT, 0600);

		if (fd < 0 && !is_ours(dir))
			return lhi_fail(-EACCES, "%s is a table of the "
			    "machine: only root can remove or repair it, and "
			    "the owner for whom it was made (leasehold init "
			    "--configured%s)", path, TABLE_WORDS(path));
		if (fd < 0)
			return lhi_fail(-errno, "cannot make %s beside %s: "
			    "%s%s", leaf, path, strerror(errno),
			    lhi_table_dir_room(errno));
		if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
			(void)close(fd);
			return lhi_fail(-EUCLEAN, "%s beside %s is not a "
			    "regular file: remove it", leaf, path);
		}
		lhi_point("removal.opened");
		error = lhi_byte_lock(fd, 0);
		if (error == 0 && (has_name(dir, leaf, fd) ||
		    lhi_mutant_on(lock_unnamed))) {
			write_own_pid(fd);
			return fd;
		}
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
	int dir = lhi_table_dir_open(path, false), fd;

	if (dir < 0)
		return dir;
	fd = lock_in(dir, path);
	(void)close(dir);
	return fd;
}

int
lhi_removal_is_at_work(const char *path)
{
	int dir = lhi_table_dir_open(path, false), fd, held;
	char leaf[TABLE_LEAF_MAX];

	if (dir < 0)
		return -1;
	lhi_table_dir_beside(leaf, path, ".removal");
	fd = lhi_fd_openat(dir, leaf, O_RDWR | O_CLOEXEC | O_NOFOLLOW |
	    O_NONBLOCK, 0);
	held = fd >= 0 ? lhi_byte_held(fd, 0) : errno == ENOENT ? 0 : -1;
	if (fd >= 0)
		(void)close(fd);
	(void)close(dir);
	return held < 0 ? -1 : held;
}

/* Returns the process that removes or repairs the table; 0: not known here. */
static pid_t
find_process(const char *path, struct lhi_procstat *ps)
{
	int dir = lhi_table_dir_open(path, false);
	char leaf[TABLE_LEAF_MAX];
	pid_t pid;

	if (dir < 0)
		return 0;
	lhi_table_dir_beside(leaf, path, ".removal");
	pid = read_owner(dir, leaf);
	(void)close(dir);
	return pid != 0 && lhi_procstat_read(pid, 0, ps) ? pid : 0;
}

static int
fail_stopped(const char *path, pid_t pid, int error)
{
	return lhi_fail(error, "%s is being removed or repaired by process "
	    "%d, which is stopped: end it (kill -KILL %d), or resume it (kill "
	    "-CONT %d)", path, (int)pid, (int)pid, (int)pid);
}

static bool
is_stopped(const struct lhi_procstat *ps)
{
	return ps->state == 'T' || ps->state == 't';
}

int
lhi_removal_fail_busy(const char *path)
{
	char leaf[TABLE_LEAF_MAX];
	struct lhi_procstat ps;
	pid_t pid = find_process(path, &ps);

	lhi_table_dir_beside(leaf, path, ".removal");
	if (pid == 0)
		return lhi_fail(-EBUSY, "%s is being removed or repaired by "
		    "another process: try again, or look which process has "
		    "%s open", path, leaf);
	if (is_stopped(&ps))
		return fail_stopped(path, pid, -EBUSY);
	return lhi_fail(-EBUSY, "%s is being removed or repaired by process "
	    "%d: try again when that has ended", path, (int)pid);
}

int
lhi_removal_fail_stuck(const char *path)
{
	struct lhi_procstat ps;
	pid_t pid = find_process(path, &ps);

	if (pid != 0 && is_stopped(&ps))
		return fail_stopped(path, pid, -EAGAIN);
	if (pid != 0)
		return lhi_fail(-EAGAIN, "%s is being removed or repaired by "
		    "process %d, which does not go on: end it, or let it run",
		    path, (int)pid);
	return lhi_fail(-EAGAIN, "%s is being removed or repaired by a process "
	    "that does not go on: end it, or let it run", path);
}

/* True if the file is another user's, for as long as there is the table. */
static bool
is_given(int dir, const char *path, int lock)
{
	struct stat st;

	return fstat(lock, &st) == 0 && !lhi_owner_is_self(lock, &st) &&
	    fstatat(dir, lhi_table_dir_leaf(path), &st, AT_SYMLINK_NOFOLLOW) ==
	    0;
}

static void
unlock(int lock)
{
	/* a child that was forked meanwhile may have the description, too */
	(void)lhi_bytes_unlock(lock);
	(void)close(lock);
}

void
lhi_removal_unlock(const char *path, int lock)
{
	int dir = lhi_table_dir_open(path, false);
	char leaf[TABLE_LEAF_MAX];

	lhi_table_dir_beside(leaf, path, ".removal");
	if (dir >= 0) {
		if (!is_given(dir, path, lock))
			(void)unlinkat(dir, leaf, 0);
		(void)close(dir);
	}
	unlock(lock);
}

int
lhi_removal_give(const char *path, uid_t owner)
{
	int lock = lhi_removal_lock(path), error = 0;

	if (lock == -EAGAIN)
		return lhi_removal_fail_busy(path);
	if (lock < 0)
		return lock;
	if (fchown(lock, owner, (gid_t)-1) != 0)
		error = lhi_fail(-errno, "cannot give the file for removals of "
		    "%s to user %u: %s", path, (unsigned)owner,
		    strerror(errno));
	unlock(lock);
	return error;
}
