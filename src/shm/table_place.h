/* SPDX-License-Identifier: MIT */
/* Which file a table was made in: see table_place.c. */
#ifndef LHI_TABLE_PLACE_H
#define LHI_TABLE_PLACE_H

#include "shm/view.h"

/* Says in *p by what that file is known.  0; -errno. */
int lhi_place_of(int fd, struct lhi_place *p);

/* Is the file that is `now` the one that was `then`? */
enum lhi_place_answer {
	LHI_PLACE_SAME,
	LHI_PLACE_OTHER,
	LHI_PLACE_UNTOLD	/* neither birth time nor handle is known */
};
enum lhi_place_answer lhi_place_compare(const struct lhi_place *then,
    const struct lhi_place *now);

/* Writes down in a new table's header which file it is, or which its live file
 * is.  0; -EOPNOTSUPP: the kernel says nothing that another file does not have
 * as well; -errno. */
int lhi_place_set(struct shm_header *h, int fd);
int lhi_place_set_live(struct shm_header *h, int fd);

/* The live file, as the header knows it. */
struct lhi_place lhi_place_live(const struct shm_header *h);

/* 0 if the file is the one that the table of this header was made in; -EUCLEAN:
 * it is a copy, or was kept over a restart; -EXDEV: it cannot be told. */
int lhi_place_check(const struct shm_header *h, int fd, const char *path);

#endif
