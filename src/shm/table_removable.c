/* SPDX-License-Identifier: MIT */
/*
 * Answers "would the removal of this table come to its end?", before anything
 * is changed.
 *
 * A removal first retires the table and removes its name last
 * (table_remove.c).  A retired table grants nothing any more, and that is never
 * undone.  So a removal that fails at the name would have taken the table from
 * its users, and the next process that opens the name would make a second one.
 * Therefore this file first checks all that can be known:
 *
 *	TC1	neither the directory nor the object is immutable or
 *		append-only (chattr +i, +a): no name of theirs can be removed
 *	TC2	the name is not a mount point in this mount namespace.  (If it
 *		is one elsewhere only, the kernel unmounts it there.)
 *	TC3	beside the object a link can be made and removed, as it is for
 *		the floor (table_remove.c, RM3)
 *
 * Not guaranteed: that nothing changes afterwards.  A removal that fails then
 * says that the table is retired (-EINPROGRESS).
 *
 * A crash in TC3 leaves NAME.floor~, which is of no use.  The next removal
 * removes it.  A process that is stopped here has changed nothing, and keeps
 * others from removing that table.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "prim/shared.h"
#include "shm/table_dir.h"
#include "shm/table_removable.h"

#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x2000
#endif
#define FIXED (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)

/* The attributes of a file; 0 if the kernel does not say. */
static uint64_t
read_attributes(int dir, const char *leaf)
{
	struct statx sx;
	int flags = leaf[0] == '\0' ? AT_EMPTY_PATH : AT_SYMLINK_NOFOLLOW;

	if (statx(dir, leaf, flags, STATX_TYPE, &sx) != 0)
		return 0;
	return sx.stx_attributes & sx.stx_attributes_mask;
}

static int
fail_fixed(const char *path, const char *what)
{
	return lhi_fail(-EPERM, "%s%s cannot be removed: it is immutable or "
	    "append-only (chattr -i -a)", what, path);
}

/* TC3, and errno. */
static bool
can_make_link(int dir, const char *leaf)
{
	if (unlinkat(dir, leaf, 0) != 0 && errno != ENOENT)
		return false;
	if (symlinkat("0", dir, leaf) != 0)
		return false;
	lhi_point("removable.linked");
	return unlinkat(dir, leaf, 0) == 0;
}

int
lhi_table_removable_check(int dir, const char *path, int fd)
{
	char leaf[TABLE_LEAF_MAX];

	if (read_attributes(dir, "") & FIXED)			/* TC1 */
		return fail_fixed(path, "the directory of ");
	if (read_attributes(fd, "") & FIXED)
		return fail_fixed(path, "");
	if (read_attributes(dir, lhi_table_dir_leaf(path)) &	/* TC2 */
	    STATX_ATTR_MOUNT_ROOT)
		return lhi_fail(-EBUSY, "%s is a mount point: unmount it "
		    "(umount %s), or remove the table where it is none", path,
		    path);
	lhi_table_dir_beside(leaf, path, ".floor~");
	if (can_make_link(dir, leaf))
		return 0;
	return lhi_fail(-errno, "no name can be "
	    "made and removed beside %s: %s (it was tried with %s)", path,
	    strerror(errno), leaf);
}
