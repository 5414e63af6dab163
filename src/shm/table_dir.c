/* SPDX-License-Identifier: MIT */
/*
 * Places: proves that only the table's owner can have put a file here.
 *
 * Every user may make files in /dev/shm, so a name there proves nothing.  The
 * files of a table are in a directory of their own:
 *
 *	/dev/shm/leasehold.<euid>/	the user's, 0700.  0750 or 0755 once it
 *					has a table whose mode admits others
 *	/dev/shm/leasehold.system/	root's, 0755.  Made by the root whose
 *					/dev/shm it is
 *		NAME.table		the object
 *		NAME.live.ID		its signs of life (live_file.c)
 *		ID-IDX.sign		a second sign of life of this user's, in
 *					any table (session_sign.c)
 *		NAME.removal		is locked by a process that removes it
 *					(removal_lock.c)
 *		NAME.floor		how far tokens of removed tables had got
 *					(table_remove.c)
 *
 * The directory is opened first, not through a link, and checked by its
 * descriptor: it must belong to the user, or to root for `system`, and neither
 * group nor others may write there.  An owner that a user namespace makes
 * doubtful is no owner (file_owner.c).  Everything else is reached from that
 * descriptor.  So every file in it was put there by its owner or by root.  In
 * particular, a table of the machine that belongs to another user than root was
 * given to that user by root, and is trusted.
 *
 * Only the directory's owner creates, links or unlinks files there.
 *
 * The check of the mode is repeated at each opening, and cannot be outrun: a
 * user who may not write to the directory cannot change its mode either.
 *
 * A maker that is killed after mkdir() leaves a directory whose mode lacks bits
 * (its umask may have removed any). The next one adds them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "prim/descriptor.h"
#include "prim/file_owner.h"
#include "shm/table_dir.h"

#define SHM "/dev/shm"
#define SYSTEM "/dev/shm/leasehold.system/"
#define DIR_MAX 64
#define SUFFIX ".table"
#define FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

bool
lhi_table_dir_is_system(const char *path)
{
	return strncmp(path, SYSTEM, sizeof(SYSTEM) - 1) == 0;
}

const char *
lhi_table_dir_leaf(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

void
lhi_table_dir_beside(char to[TABLE_LEAF_MAX], const char *path,
    const char *suffix)
{
	const char *leaf = lhi_table_dir_leaf(path);
	size_t n = strlen(leaf), end = sizeof(SUFFIX) - 1;

	if (n > end && strcmp(leaf + n - end, SUFFIX) == 0)
		n -= end;
	(void)snprintf(to, TABLE_LEAF_MAX, "%.*s%s", (int)n, leaf, suffix);
}

void
lhi_table_dir_path(char *to, size_t len, const char *path)
{
	const char *leaf = lhi_table_dir_leaf(path);

	(void)snprintf(to, len, "%.*s", leaf > path ? (int)(leaf - path - 1) :
	    0, path);
}

static uid_t
owner_of(const char *path)
{
	return lhi_table_dir_is_system(path) ? 0 : geteuid();
}

static int
fail_foreign(const char *dir, uid_t owner, uid_t wanted)
{
	if (!lhi_uid_is_sure(owner))
		return lhi_fail(-EACCES, "%s belongs to user %u, which in this "
		    "user namespace is each user without a number here, and "
		    "its tables are user %u's: it is not trusted; map its "
		    "owner here (/etc/subuid), use a /dev/shm of the "
		    "namespace's own, or, if somebody else made it first, let "
		    "root outside rename it (mv %s %s.old)", dir,
		    (unsigned)owner, (unsigned)wanted, dir, dir);
	return lhi_fail(-EACCES, "%s belongs to user %u, and its tables are "
	    "user %u's: somebody else made it first; let root rename it, "
	    "which ends nobody who uses a table there (mv %s %s.old)", dir,
	    (unsigned)owner, (unsigned)wanted, dir, dir);
}

const char *
lhi_table_dir_room(int error)
{
	return error != ENOSPC && error != EDQUOT ? "" : " (a file needs an "
	    "inode and a page: see df -i /dev/shm and df /dev/shm); remove "
	    "files there that nobody needs";
}

int
lhi_table_dir_fail_read_only(const char *path)
{
	return lhi_fail(-EROFS, "%s cannot be used: /dev/shm is mounted "
	    "read-only, and whoever uses a table writes to it, also to ask; "
	    "mount it for writing (mount -o remount,rw /dev/shm); leasehold "
	    "dump and log only read", path);
}

/*
 * True if the root of this process's user namespace may make the machine's
 * directory: /dev/shm is the machine's and so is that root, or it is the
 * namespace's own.  Else root of a container would make, by an ordinary use,
 * the name that the machine's root needs.
 */
static bool
is_shm_of_root(void)
{
	struct stat st;

	return lhi_has_all_users() || (stat(SHM, &st) == 0 &&
	    st.st_uid == 0 && lhi_owner_is_sure_at(SHM, &st));
}

static int
make_dir(const char *path, const char *dir, uid_t owner)
{
	char name[TABLE_LEAF_MAX];

	if (strncmp(dir, SYSTEM, sizeof(SYSTEM) - 2) == 0 && !is_shm_of_root())
		return lhi_fail(-EACCES, "there is no directory %s, and the "
		    "root of this user namespace does not make it, because "
		    SHM " is the machine's: use a table of your own (without "
		    "--system), or give the namespace a " SHM " of its own",
		    dir);
	lhi_table_dir_beside(name, path, "");
	if (owner != geteuid())
		return lhi_fail(-EACCES, "there is no directory %s, and only "
		    "root can make it: let root run 'leasehold init --system "
		    "--table %s'", dir, name);
	if (mkdir(dir, owner == 0 ? 0755 : 0700) != 0 && errno != EEXIST)
		return errno == EROFS ? lhi_table_dir_fail_read_only(dir) :
		    lhi_fail(-errno, "cannot make the directory %s: %s%s", dir,
		    strerror(errno), lhi_table_dir_room(errno));
	return 0;
}

/* Reports why it could not be opened. Returns 0: try again. */
static int
handle_open_error(const char *path, const char *dir, int error, uid_t owner,
    bool make)
{
	struct stat st;

	if (error == ENOENT && make)
		return make_dir(path, dir, owner);
	if (error == ENOENT)
		return lhi_fail(-ENOENT, "there is no directory %s, and so no "
		    "table", dir);
	if ((error == ENOTDIR || error == ELOOP || error == EACCES) &&
	    lstat(dir, &st) == 0) {
		if (st.st_uid != owner)
			return fail_foreign(dir, st.st_uid, owner);
		if (!S_ISDIR(st.st_mode))
			return lhi_fail(-EACCES, "%s is no directory: tables "
			    "stand in one of that name; remove it", dir);
		/* made under an unusual umask; and nobody else can replace a
		 * directory of ours in /dev/shm, which is sticky */
		if (make && owner == geteuid() && !(st.st_mode & 0500) &&
		    chmod(dir, 0700) == 0)
			return 0;
		if (!lhi_uid_is_sure(st.st_uid))
			return fail_foreign(dir, st.st_uid, owner);
	}
	return lhi_fail(error == EPERM ? -EACCES : -error, "cannot open the "
	    "directory %s: %s", dir, strerror(error));
}

static int
check_dir(const char *path, const char *dir, int fd)
{
	mode_t needed = lhi_table_dir_is_system(path) ? 0755 : 0700;
	uid_t owner = owner_of(path);
	struct stat st;

	if (fstat(fd, &st) != 0)
		return lhi_fail(-errno, "cannot look at %s: %s", dir,
		    strerror(errno));
	if (st.st_uid != owner || !lhi_owner_is_sure(fd, &st))
		return fail_foreign(dir, st.st_uid, owner);
	if ((st.st_mode & 022))
		return lhi_fail(-EACCES, "others than user %u may write in %s "
		    "(mode %03o), so nothing there can be trusted: see what is "
		    "in it, then chmod go-w %s", (unsigned)owner, dir,
		    (unsigned)st.st_mode & 0777, dir);
	if ((st.st_mode & needed) != needed && owner == geteuid())
		(void)fchmod(fd, (st.st_mode & 0777) | needed);
	return 0;
}

int
lhi_table_dir_open(const char *path, bool make)
{
	char dir[DIR_MAX];
	int fd, error;

	lhi_table_dir_path(dir, sizeof(dir), path);
	for (int i = 0;; i++) {
		fd = lhi_fd_open(dir, FLAGS);
		if (fd >= 0)
			break;
		error = handle_open_error(path, dir, errno, owner_of(path),
		    make && i < 3);
		if (error != 0)
			return error;
	}
	error = check_dir(path, dir, fd);
	if (error == 0)
		return fd;
	(void)close(fd);
	return error;
}

int
lhi_table_dir_admit(const char *path, int dir, mode_t mode, gid_t group)
{
	struct stat st;
	mode_t now;

	if ((mode & 0077) == 0 || lhi_table_dir_is_system(path))
		return 0;
	if (fstat(dir, &st) != 0)
		return -errno;
	now = st.st_mode & 0777;
	/* a directory has one group: a second group comes in with everybody */
	if (!(mode & 0007) && !(now & 0050) &&
	    fchown(dir, (uid_t)-1, group) == 0)
		st.st_gid = group;
	now |= (mode & 0007) || st.st_gid != group ? 0055 : 0050;
	return fchmod(dir, now) == 0 ? 0 : -errno;
}
