/* SPDX-License-Identifier: MIT */
/*
 * Erases an object that is removed by force and that this build cannot read: a
 * table of another layout, or one whose header is damaged.
 *
 * Processes may have it mapped, and go on granting keys in it after its name is
 * gone.  Where their words are is not known: the header says it, and the header
 * is not believed.  But no word that a grant expects is zero: a straight path
 * swaps exactly the word that its last release wrote, which has a mode and a
 * version.  So every byte of the object is set to zero.  This is done before
 * the name is free and a new table can grant:
 *
 *	ER1	the header, which all other paths look at (lhi_view_sound())
 *	ER2	all of it, wherever the file has data
 *	ER3	all of it once more
 *
 * Invariants.
 *  I1	No straight grant comes after ER3: its swap finds another word.  A
 *	grant during ER2 may write a word that ER2 has passed (a reader's claim
 *	lies before its slot).  It rested on a word that ER2 had not reached,
 *	and after ER2 there is none.  So what it wrote is the last such word,
 *	and ER3 erases it.  The tokens of all these grants are below the floor,
 *	which is raised before ER1 (table_remove.c).
 *  I2	No other grant is reported after ER1: each operation that may have read
 *	zeros ends with -EUCLEAN (shm/damaged.h).
 *  I3	A lease that was held is lost.  Its holder notices at its next call.
 *	Only a layout that is known lets leases stay (table_revoke.c).
 *
 * The bytes are written, not taken away.  A shorter file would end users that
 * do not catch SIGBUS, and so would a hole, when its memory is touched again
 * and the file system is full.  Where the file has no data it reads as zero
 * already.
 *
 * A crash after ER1 or ER2, or within, leaves an object that is no table under
 * the name: it is refused, and removed by force once more.  A process that is
 * stopped there keeps the name, and no other table of that name can be made.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "prim/descriptor.h"
#include "prim/shared.h"
#include "shm/layout.h"
#include "shm/table_erase.h"

#define BLOCK 65536

/* Writes zeros there.  0, or -errno. */
static int
write_zeros(int fd, off_t from, off_t to)
{
	static const char zeros[BLOCK];

	while (from < to) {
		size_t n = to - from < BLOCK ? (size_t)(to - from) : BLOCK;
		ssize_t done = pwrite(fd, zeros, n, from);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		from += done;
		lhi_point("erase.written");
	}
	return 0;
}

/* ER2, ER3.  Where a file system cannot say what is data, all of it is. */
static int
erase_data(int fd, off_t len)
{
	off_t from = 0, to;
	int error = 0;

	while (error == 0 && from < len &&
	    (from = lseek(fd, from, SEEK_DATA)) >= 0 && from < len) {
		to = lseek(fd, from, SEEK_HOLE);
		if (to < 0 || to > len)
			to = len;
		error = write_zeros(fd, from, to);
		from = to;
	}
	return error != 0 || from >= 0 || errno == ENXIO ? error : -errno;
}

int
lhi_table_erase(const char *path, int fd)
{
	struct stat st = { .st_size = 0 };
	int error = 0;
	off_t first;

	if (fstat(fd, &st) != 0)
		error = -errno;
	else if (!lhi_fd_may_write((uint64_t)st.st_size))
		error = -EFBIG;
	if (lhi_mutant_on(foreign_unerased))
		return 0;
	first = st.st_size < (off_t)sizeof(struct shm_header) ? st.st_size :
	    (off_t)sizeof(struct shm_header);
	if (error == 0)
		error = write_zeros(fd, 0, first);		/* ER1 */
	lhi_point("erase.header");
	if (error == 0 && !lhi_mutant_on(foreign_header_only))
		error = erase_data(fd, st.st_size);		/* ER2 */
	lhi_point("erase.once");
	if (error == 0 && !lhi_mutant_on(foreign_header_only))
		error = erase_data(fd, st.st_size);		/* ER3 */
	return error == 0 ? 0 : lhi_fail(error, "cannot erase %s, so that "
	    "processes that use it are granted nothing any more: %s%s", path,
	    strerror(-error), error == -EFBIG ? " (ulimit -f)" : "");
}
