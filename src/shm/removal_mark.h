/* SPDX-License-Identifier: MIT */
/* The marks that a removal rests on, which only a table's owner can set: see
 * removal_mark.c. */
#ifndef LHI_REMOVAL_MARK_H
#define LHI_REMOVAL_MARK_H

#include <stdbool.h>

/* Marks the table, open as fd, as being removed.  Returns 0; -EACCES: the table
 * is another user's; -errno. */
int lhi_removal_mark_set(int fd, const char *path);

/* Clears that mark, of a removal that changed nothing else.  As above. */
int lhi_removal_mark_clear(int fd, const char *path);

/* True if the table is marked; false in doubt. */
bool lhi_removal_mark_is_set(int fd);

#endif
