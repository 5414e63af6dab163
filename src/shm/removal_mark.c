/* SPDX-License-Identifier: MIT */
/*
 * The owner's marks: answers "who says that this table is to be removed?".
 *
 * A removal that was begun is completed by the next process that uses the name
 * (table_remove.c).  That cannot be undone, so it must not rest on the table's
 * words: every member of the table can write each of them.  It rests on two
 * bits that only the owner of a file, and root, can change: the sticky bits of
 * the modes of the table's files.  The kernel ignores them there.
 *
 *	of the object		its removal has begun
 *	of the live file	no process has used the table since it was made
 *				(live_file.c)
 *
 * A removal needs both the mark and the words, because a mark alone may be an
 * accident (chmod -R 1777 /dev/shm), and words alone may be a member's:
 *
 *	mark	words	the table
 *	no	no	is in use
 *	yes	no	is in use; its remover was killed before RM1.  The
 *			next user clears the mark, under the removal lock, if it
 *			is the owner or root; others are refused until then
 *	yes	yes	is removed: the next user completes that, if it is the
 *			owner or root.  To others there is no table
 *	no	yes	is damaged: nobody has ordered its removal
 *
 * A process that looks at the table only (LH_LOOK, or without making it) never
 * completes a removal.
 *
 * Ordering.  A remover sets the mark, then writes the words.  An opener reads
 * the words, then the mark.  So words of a removal are never read without the
 * mark.  The mark is cleared under the removal lock, after the words were read
 * there and were none; so no remover is between RM0 and RM1 then.
 *
 * The owner's mark needs no memory and no name, so that a full tmpfs does not
 * matter, and neither does a directory where the owner cannot make files: the
 * owner that root's configuration names can mark its table.  It goes with the
 * file, so it is never an older or newer table's.
 *
 * A member can write the words, so that the table cannot be used until it is
 * repaired.  A member can also erase them, which ends an unfinished removal.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "base/error.h"
#include "shm/removal_mark.h"

static int
change_mode(int fd, const char *path, mode_t clear, mode_t set)
{
	struct stat st;

	if (fstat(fd, &st) == 0 &&
	    fchmod(fd, (st.st_mode & 07777 & ~clear) | set) == 0)
		return 0;
	return lhi_fail(errno == EPERM ? -EACCES : -errno, "cannot change the "
	    "mode of %s, which marks a removal: %s", path, strerror(errno));
}

int
lhi_removal_mark_set(int fd, const char *path)
{
	return change_mode(fd, path, 0, S_ISVTX);
}

int
lhi_removal_mark_clear(int fd, const char *path)
{
	return change_mode(fd, path, S_ISVTX, 0);
}

bool
lhi_removal_mark_is_set(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_mode & S_ISVTX);
}
