/* SPDX-License-Identifier: MIT */
/* Erases a table that this build cannot read: see table_erase.c. */
#ifndef LHI_TABLE_ERASE_H
#define LHI_TABLE_ERASE_H

/* Sets every byte of the object to zero.  Its users are granted nothing any
 * more.  0, or -errno. */
int lhi_table_erase(const char *path, int fd);

#endif
