/* SPDX-License-Identifier: MIT */
/*
 * The live file: the file through which a table asks which sessions live.
 *
 * The signs of life of a table are locks (session_bytes.c). They are not locks
 * on the object.  A process that may only read the object can lock its bytes,
 * and would lock all others out or keep dead sessions alive.  So a table has a
 * second file, which is always empty:
 *
 *	NAME.live.ID	ID: 16 digits, the first half of the table's id.  Mode,
 *			group and owner are the table's, but a user who may not
 *			both read and write the table may do neither here
 *
 * A table finds its live file by the id, which is in the header (and its sum),
 * and is never another table's.  So the file of an older table of that name is
 * never taken for this one's.  It still serves processes that are attached to
 * that older table and have it open.  A file called NAME.live could not be
 * removed safely: between a check of it and its unlinking, the next table could
 * put its own there.
 *
 * The name alone proves nothing: the locks of the living are on the inode, so
 * in a file that replaced it all sessions seem dead.  The header says which
 * file it was made with (device, inode, birth time, handle: table_place.c), and
 * a process that opens one compares these, by the descriptor.  If it is
 * another, it is not known which sessions live.  Processes that have opened the
 * right one go on.  No process makes a new one for a table that has its name,
 * not even a repair.
 *
 * While the file is new, its mode has the sticky bit.  The first process of its
 * owner or of root that opens it clears the bit; members cannot set it.  So a
 * table that was made too late differs from one that was in use
 * (table_remove.c, I4).
 *
 * Made by the maker of the table:
 *	LF1	a file without a name; its byte MAKING is locked
 *	LF2	the header of the table, which has no name, says which file
 *		that is; then comes the header's sum
 *	LF3	the file, whose mode says that it is new, is linked to its name
 *	LF4	the table is linked to its name (table_make.c).  The table
 *		exists from here on.  If another maker was first, our file is
 *		unlinked
 *	LF5	the description is closed, which unlocks MAKING
 * Removed:
 *	RM4	the table is unlinked (table_remove.c)
 *	RM5	the file is unlinked
 *
 * Invariants.
 *  I1	A table that has its name has its live file, under the name in its
 *	header, unless its owner or root has removed it; and its header says
 *	which file that is.
 *  I2	A file is unlinked by its maker before LF4, at RM5, or by a process that
 *	has locked MAKING and then seen the name NAME.table without that table.
 *	When MAKING is free, LF4 of that file has happened or never will; and a
 *	name that was unlinked is never given to the same table again.
 *  I3	A sweeping process locks no other byte, so a stopped one delays no
 *	other process.  It only checks whether one is locked: an old table may
 *	still have users, whose file is left.
 *
 * A crash after LF1 or LF2 leaves nothing, one after LF3 or RM4 an unused file.
 * The next process that makes or removes a table of that name removes it
 * (lhi_live_file_sweep()). A stopped process delays no other.
 *
 * live_probe.c asks through the file.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "prim/bytelock.h"
#include "prim/descriptor.h"
#include "prim/file_owner.h"
#include "shm/live_file.h"
#include "shm/session_bytes.h"
#include "shm/session_sign.h"
#include "shm/table_dir.h"
#include "shm/table_place.h"
#include "shm/table_words.h"

#define MAKING_BYTE (SESSION_BYTES_OFF - 4)	/* the first of them */
#define OTHER_BYTES (3 + 2 * 4096)
#define ID_DIGITS 16
#define INFIX ".live."
#define SWEEP_MAX 100000	/* names looked at in a directory */
#define OPEN_FLAGS (O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

void
lhi_live_file_leaf(char leaf[TABLE_LEAF_MAX], const char *path, uint64_t uuid)
{
	char suffix[sizeof(INFIX) + ID_DIGITS];

	(void)snprintf(suffix, sizeof(suffix), INFIX "%016" PRIx64, uuid);
	lhi_table_dir_beside(leaf, path, suffix);
}

/* Reads the first half of the id of the table that fd is. */
static bool
read_id(int fd, uint64_t *uuid)
{
	return pread(fd, uuid, sizeof(*uuid), offsetof(struct shm_header,
	    uuid)) == sizeof(*uuid);
}

/* Returns the live file's mode, from the table's: all or nothing for each. */
static mode_t
mode_of(mode_t table)
{
	mode_t mode = 0;

	for (unsigned shift = 0; shift <= 6; shift += 3)
		if ((table >> shift & 06) == 06)
			mode |= (mode_t)06 << shift;
	return mode;
}

int
lhi_live_file_make(int dir, const char *path)
{
	int fd = lhi_fd_openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	int error;

	if (fd < 0)
		return lhi_fail(-errno, "cannot make a file beside %s: %s%s",
		    path, strerror(errno), lhi_table_dir_room(errno));
	error = lhi_byte_lock(fd, MAKING_BYTE);
	if (error == 0)
		return fd;
	(void)close(fd);
	return lhi_fail(error, "cannot lock a byte of %s: %s", path,
	    strerror(-error));
}

/* Does LF3, for the table whose id begins with uuid. */
static int
link_file(int dir, const char *path, const struct stat *table, int fd,
    uint64_t uuid)
{
	char leaf[TABLE_LEAF_MAX], self[40];
	struct stat st;

	if (fstat(fd, &st) != 0 || ((st.st_uid != table->st_uid ||
	    st.st_gid != table->st_gid) && fchown(fd, table->st_uid,
	    table->st_gid) != 0) || fchmod(fd, mode_of(table->st_mode) |
	    S_ISVTX) != 0)
		return lhi_fail(-errno, "cannot give the file beside %s the "
		    "table's owner and mode: %s", path, strerror(errno));
	lhi_live_file_leaf(leaf, path, uuid);
	(void)snprintf(self, sizeof(self), "/proc/thread-self/fd/%d", fd);
	if (linkat(AT_FDCWD, self, dir, leaf, AT_SYMLINK_FOLLOW) != 0)
		return lhi_fail(-errno, "cannot make %s beside %s: %s%s", leaf,
		    path, strerror(errno), errno == ENOENT ? " (is /proc "
		    "mounted?)" : lhi_table_dir_room(errno));
	lhi_point("live.linked");
	return 0;
}

int
lhi_live_file_name(int dir, const char *path, int object, int live)
{
	struct stat table;
	uint64_t uuid;

	if (fstat(object, &table) != 0 || !read_id(object, &uuid))
		return lhi_fail(-EIO, "cannot read %s", path);
	return link_file(dir, path, &table, live, uuid);
}

bool
lhi_live_file_is_new(const char *path, int object)
{
	int dir = lhi_table_dir_open(path, false);
	struct stat st, table;
	char leaf[TABLE_LEAF_MAX];
	uint64_t uuid;
	bool is_new = false;

	if (dir < 0)
		return false;
	if (fstat(object, &table) == 0 && read_id(object, &uuid)) {
		lhi_live_file_leaf(leaf, path, uuid);
		is_new = fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode) && st.st_uid == table.st_uid &&
		    (st.st_mode & S_ISVTX);
	}
	(void)close(dir);
	return is_new;
}

void
lhi_live_file_drop(int dir, const char *path, int object)
{
	char leaf[TABLE_LEAF_MAX];
	uint64_t uuid;

	if (!read_id(object, &uuid))
		return;
	lhi_live_file_leaf(leaf, path, uuid);
	(void)unlinkat(dir, leaf, 0);
}

void
lhi_live_file_retire(int dir, const char *path, int object)
{
	uint64_t uuid;

	lhi_live_file_drop(dir, path, object);
	if (read_id(object, &uuid))
		lhi_sign_sweep(dir, uuid);
	lhi_live_file_sweep(dir, path);
}

/* Reads the id in the name of a live file, all of which begin with `prefix`, of
 * n characters.  Returns false if it is none. */
static bool
parse_leaf(const char *name, const char *prefix, size_t n, uint64_t *uuid)
{
	if (strncmp(name, prefix, n) != 0 || strlen(name) != n + ID_DIGITS ||
	    strspn(name + n, "0123456789abcdef") != ID_DIGITS)
		return false;
	*uuid = strtoull(name + n, NULL, 16);
	return true;
}

/* True if the name NAME.table is not that table's; false in doubt. */
static bool
is_unused(int dir, const char *path, uint64_t uuid)
{
	int fd = lhi_fd_openat(dir, lhi_table_dir_leaf(path), O_RDONLY |
	    O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	uint64_t now;
	bool unused;

	if (fd < 0)
		return errno == ENOENT;
	unused = read_id(fd, &now) && now != uuid;
	(void)close(fd);
	return unused;
}

/* I2. */
static void
sweep_one(int dir, const char *path, const char *leaf, uint64_t uuid)
{
	int fd = lhi_fd_openat(dir, leaf, OPEN_FLAGS, 0);
	struct stat st;

	if (fd < 0)
		return;
	if ((lhi_mutant_on(sweeps_makers) ||
	    lhi_byte_lock(fd, MAKING_BYTE) == 0) &&
	    is_unused(dir, path, uuid) &&
	    lhi_bytes_held(fd, MAKING_BYTE + 1, OTHER_BYTES) == 0 &&
	    fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0)
		(void)unlinkat(dir, leaf, 0);
	(void)close(fd);
}

void
lhi_live_file_sweep(int dir, const char *path)
{
	int saved = errno, fd;
	char prefix[TABLE_LEAF_MAX];
	const struct dirent *e;
	uint64_t uuid;
	size_t n;
	DIR *list;

	lhi_table_dir_beside(prefix, path, INFIX);
	n = strlen(prefix);
	fd = lhi_fd_openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	list = fd < 0 ? NULL : fdopendir(fd);
	for (int i = 0; list != NULL && i < SWEEP_MAX &&
	    (e = readdir(list)) != NULL; i++)
		if (parse_leaf(e->d_name, prefix, n, &uuid))
			sweep_one(dir, path, e->d_name, uuid);
	if (list != NULL)
		(void)closedir(list);
	else if (fd >= 0)
		(void)close(fd);
	errno = saved;
}

/* True if NAME.table still is the object. */
static bool
has_name(int dir, const char *path, const struct stat *object)
{
	struct stat st;

	return fstatat(dir, lhi_table_dir_leaf(path), &st,
	    AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == object->st_dev &&
	    st.st_ino == object->st_ino;
}

/* 0 if fd is the file that the table was made with; or why not. */
static int
check_file(int fd, const char *path, const char *leaf,
    const struct lhi_place *place)
{
	struct lhi_place now;
	int error = lhi_place_of(fd, &now);

	if (error != 0)
		return lhi_fail(error, "cannot look at %s beside %s: %s", leaf,
		    path, strerror(-error));
	if (lhi_mutant_on(live_by_name))
		return 0;
	switch (lhi_place_compare(place, &now)) {
	case LHI_PLACE_SAME:
		return 0;
	case LHI_PLACE_OTHER:
		return lhi_fail(-EUCLEAN, "%s beside %s is not the file of "
		    "that name that the table was made with (it was removed, "
		    "and another was put there), so nobody can tell who lives: "
		    "stop the table's users and remove it (leasehold rm "
		    "--force%s)", leaf, path, TABLE_WORDS(path));
	default:
		return lhi_fail(-EXDEV, "cannot tell whether %s beside %s is "
		    "the file that the table was made with: this process can "
		    "read neither its birth time nor its file handle; allow "
		    "the system calls statx and name_to_handle_at", leaf, path);
	}
}

static int
fail_missing(const char *path, const char *leaf)
{
	return lhi_fail(-EUCLEAN, "%s is missing beside %s, so nobody can tell "
	    "who lives: stop the table's users and remove it (leasehold rm "
	    "--force%s)", leaf, path, TABLE_WORDS(path));
}

static int
open_in(int dir, const char *path, const char *leaf, int object,
    const struct lhi_place *place)
{
	int fd = lhi_fd_openat(dir, leaf, OPEN_FLAGS, 0), error = -errno;
	struct stat st, table;

	if (fstat(object, &table) != 0)
		memset(&table, 0xff, sizeof(table));
	if (fd < 0 && error != -ENOENT)
		return lhi_fail(error == -EPERM ? -EACCES : error, "cannot "
		    "open %s beside %s: %s", leaf, path, strerror(-error));
	if (fd < 0)
		return has_name(dir, path, &table) ? fail_missing(path, leaf) :
		    lhi_fail(-ESTALE, "%s was removed just now: try again",
		    path);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_uid == table.st_uid && lhi_owner_is_sure(fd, &st)) {
		error = check_file(fd, path, leaf, place);
		/* it is in use from now on, but only its owner can note that */
		if (error == 0 && (st.st_mode & S_ISVTX))
			(void)fchmod(fd, st.st_mode & 0777);
		if (error == 0)
			return fd;
		(void)close(fd);
		return error;
	}
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    check_file(fd, path, leaf, place) == 0) {
		(void)close(fd);
		return lhi_fail(-EUCLEAN, "%s beside %s belongs to user %u, "
		    "and the table to user %u: let root give it back (chown "
		    "%u)", leaf, path, (unsigned)st.st_uid, (unsigned)
		    table.st_uid, (unsigned)table.st_uid);
	}
	(void)close(fd);
	return lhi_fail(-EUCLEAN, "%s beside %s is not the file of the table's "
	    "owner that it has to be: stop the table's users and remove it "
	    "(leasehold rm --force%s)", leaf, path, TABLE_WORDS(path));
}

int
lhi_live_file_open(const char *path, int object, uint64_t uuid,
    const struct lhi_place *place)
{
	int dir = lhi_table_dir_open(path, false), fd;
	char leaf[TABLE_LEAF_MAX];

	if (dir < 0)
		return dir;
	lhi_live_file_leaf(leaf, path, uuid);
	fd = open_in(dir, path, leaf, object, place);
	(void)close(dir);
	return fd;
}

int
lhi_live_file_look(const char *path, int object, uint64_t uuid,
    const struct lhi_place *place)
{
	int dir = lhi_table_dir_open(path, false), fd, error = 0;
	char leaf[TABLE_LEAF_MAX];
	struct stat table;

	if (dir < 0)
		return 0;
	lhi_live_file_leaf(leaf, path, uuid);
	fd = lhi_fd_openat(dir, leaf, O_PATH | O_CLOEXEC | O_NOFOLLOW, 0);
	if (fd >= 0) {
		error = check_file(fd, path, leaf, place);
		(void)close(fd);
	} else if (errno == ENOENT && fstat(object, &table) == 0 &&
	    has_name(dir, path, &table)) {
		error = fail_missing(path, leaf);
	}
	(void)close(dir);
	return error == -EUCLEAN ? error : 0;
}
