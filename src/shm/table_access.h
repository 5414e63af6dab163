/* SPDX-License-Identifier: MIT */
/* Why this user may not use a table: see table_access.c. */
#ifndef LHI_TABLE_ACCESS_H
#define LHI_TABLE_ACCESS_H

#include <stdbool.h>

/*
 * Explains that the object `leaf` in the directory could not be opened for lack
 * of permission: who may use it, why this user may not, and the remedy.
 * Returns -EACCES.
 */
int lhi_table_access_fail(int dir, const char *leaf, const char *path,
    bool to_write);

/* There is no such table of the machine, and this user cannot make it.
 * Returns -EACCES, with what to ask root for. */
int lhi_table_access_fail_missing(const char *path);

#endif
