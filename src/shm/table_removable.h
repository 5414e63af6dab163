/* SPDX-License-Identifier: MIT */
/* Checks that a table can be removed completely: see table_removable.c. */
#ifndef LHI_TABLE_REMOVABLE_H
#define LHI_TABLE_REMOVABLE_H

/*
 * Checks that the names of a table can be removed, and changes nothing.  The
 * table is open as fd, and has the name `path` in the directory dir.  The
 * caller holds the removal lock.  Returns 0; -EPERM, -EBUSY, -EROFS, -ENOSPC;
 * -errno.
 */
int lhi_table_removable_check(int dir, const char *path, int fd);

#endif
