/* SPDX-License-Identifier: MIT */
/*
 * The floor: where the tokens of the next table of a name begin.
 *
 * It is the text of a symbolic link beside the object (table_remove.c says what
 * it promises).  A link's text takes no memory and is replaced whole, so a full
 * tmpfs cannot keep a table from being removed, and a kill cannot leave half a
 * number.  Only the owner of the directory can have put it there (table_dir.c);
 * that the link is the same user's is checked by descriptor.
 *
 * Each floor that is written is accepted when it is read.  So none beyond MOST
 * is written: the removal is refused before it changes anything.  No number
 * of real grants comes near that; a ceiling that a member wrote does.  Then the
 * owner has the floor forgotten, and tokens may repeat.
 *
 * A crash before the link is renamed leaves NAME.floor~, of no use, which the
 * next raise removes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <leasehold/error.h>
#include "base/error.h"
#include "fence/durable.h"
#include "fence/range.h"
#include "prim/descriptor.h"
#include "prim/file_owner.h"
#include "prim/shared.h"
#include "shm/table_dir.h"
#include "shm/table_floor.h"
#include "shm/table_words.h"

#define LEAST		lhi_range_width()	/* of a first table */
#define MOST		(UINT64_C(1) << 62)	/* more is no floor */
#define UNKNOWN		(UINT64_C(1) << 40)	/* grants of a key at most */

/* The text of the floor's link, if it is one and its owner the directory's.
 * Its length; 0: it is neither; -ENOENT; -errno. */
static ssize_t
read_floor(int dir, const char *leaf, char *text, size_t size)
{
	int fd = lhi_fd_openat(dir, leaf, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	struct stat st, above;
	ssize_t len = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && fstat(dir, &above) == 0 &&
	    S_ISLNK(st.st_mode) && st.st_uid == above.st_uid)
		len = readlinkat(fd, "", text, size);
	(void)close(fd);
	return len < 0 ? 0 : len;
}

int
lhi_table_floor_in(int dir, const char *path, uint64_t *floor)
{
	char leaf[TABLE_LEAF_MAX], text[24], *end = text;
	uint64_t n = 0;
	ssize_t len;

	lhi_table_dir_beside(leaf, path, ".floor");
	len = read_floor(dir, leaf, text, sizeof(text) - 1);
	if (len == -ENOENT) {
		*floor = LEAST;
		return 0;
	}
	if (len < 0)
		return lhi_fail((int)len, "cannot read %s beside %s: %s", leaf,
		    path, strerror((int)-len));
	if (len > 0) {
		text[len] = '\0';
		n = strtoull(text, &end, 10);
	}
	if (len == 0 || *end != '\0' || n < LEAST || n > MOST)
		return lhi_fail(-EUCLEAN, "%s beside %s is not what a removed "
		    "table leaves: forget it (leasehold rm "
		    "--forget-tokens%s; then tokens may repeat), or use "
		    "another name", leaf, path, TABLE_WORDS(path));
	*floor = n;
	return 0;
}

int
lhi_table_floor_read(const char *path, uint64_t *floor)
{
	int dir = lhi_table_dir_open(path, false), error;

	if (dir < 0)
		return dir;
	error = lhi_table_floor_in(dir, path, floor);
	(void)close(dir);
	return error;
}

int
lhi_table_floor_forget(const char *path)
{
	static const char *const suffix[] = { ".floor", ".floor~" };
	int dir = lhi_table_dir_open(path, false), error = -ENOENT;
	char leaf[TABLE_LEAF_MAX];

	if (dir < 0)
		return dir;
	for (int i = 0; i < 2; i++) {
		lhi_table_dir_beside(leaf, path, suffix[i]);
		/* a directory goes if it is empty */
		if (unlinkat(dir, leaf, 0) == 0 || (errno == EISDIR &&
		    unlinkat(dir, leaf, AT_REMOVEDIR) == 0))
			error = 0;
		else if (errno != ENOENT)
			error = lhi_fail(errno == EPERM ? -EACCES : -errno,
			    "cannot remove %s beside %s: %s%s", leaf, path,
			    strerror(errno), errno == ENOTEMPTY ?
			    ": remove what is in it" : "");
		if (error != 0 && error != -ENOENT)
			break;
	}
	(void)close(dir);
	return error;
}

int
lhi_table_floor_raise(int dir, const char *path, uint64_t to)
{
	char leaf[TABLE_LEAF_MAX], fresh[TABLE_LEAF_MAX], text[24];
	uint64_t now;
	int error = lhi_table_floor_in(dir, path, &now);

	if (error != 0 || now >= to)
		return error;
	lhi_table_dir_beside(leaf, path, ".floor");
	lhi_table_dir_beside(fresh, path, ".floor~");
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)to);
	(void)unlinkat(dir, fresh, 0);		/* of one who was killed */
	if (symlinkat(text, dir, fresh) != 0 ||
	    renameat(dir, fresh, dir, leaf) != 0)
		return lhi_fail(-errno, "cannot write down in %s beside %s how "
		    "far the table's tokens have got: %s%s", leaf, path,
		    strerror(errno), lhi_table_dir_room(errno));
	return 0;
}

bool
lhi_table_floor_fits(uint64_t to)
{
	return to <= MOST - UNKNOWN;
}

int
lhi_table_floor_check(const char *path, uint64_t floor)
{
	return lhi_table_floor_fits(floor) ? 0 : lhi_fail(-EUCLEAN, "the "
	    "tokens of %s have come near the largest that there is, so no "
	    "later table of that name could go on above them: remove it "
	    "with --forget-tokens (then tokens may repeat: change what they "
	    "were shown to)", path);
}

int
lhi_table_floor_pass(int dir, const char *path)
{
	uint64_t clock = lhi_durable_clock(), floor;
	int error = lhi_table_floor_in(dir, path, &floor);

	/* it was made with that base or a lower one; or, with a fence file,
	 * about where the wall clock was (durable.c) */
	if (error == 0 && floor < clock)
		floor = clock;
	if (error == 0)
		error = lhi_table_floor_check(path, floor);
	return error != 0 ? error :
	    lhi_table_floor_raise(dir, path, floor + UNKNOWN);
}
