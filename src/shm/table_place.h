/* SPDX-License-Identifier: MIT */
/* Which file a table was made in: see table_place.c. */
#ifndef LHI_TABLE_PLACE_H
#define LHI_TABLE_PLACE_H

#include "shm/view.h"

/* Writes down in a new table's header which file it is.  0; -EOPNOTSUPP: the
 * kernel says nothing by which a copy could be told from it; -errno. */
int lhi_place_set(struct shm_header *h, int fd);

/* 0 if the file is the one that the table of this header was made in; -EUCLEAN:
 * it is a copy, or was kept over a restart; -EXDEV: it cannot be told. */
int lhi_place_check(const struct shm_header *h, int fd, const char *path);

#endif
