/* SPDX-License-Identifier: MIT */
/* The file in which a table was made: see table_place.c. */
#ifndef LHI_TABLE_PLACE_H
#define LHI_TABLE_PLACE_H

#include "shm/view.h"

/* Reads into *p the facts that identify the file. Returns 0; -errno. */
int lhi_place_of(int fd, struct lhi_place *p);

/* Compares the file that is `now` with the one that was `then`. */
enum lhi_place_answer {
	LHI_PLACE_SAME,
	LHI_PLACE_OTHER,
	LHI_PLACE_UNTOLD	/* neither birth time nor handle is known */
};
enum lhi_place_answer lhi_place_compare(const struct lhi_place *then,
    const struct lhi_place *now);

/*
 * Stores in a new table's header which file it is, or which its live file is.
 * Returns 0; -EOPNOTSUPP: the kernel gives no fact that distinguishes it from
 * another file; -errno.
 */
int lhi_place_set(struct shm_header *h, int fd);
int lhi_place_set_live(struct shm_header *h, int fd);

/* The live file, as the header knows it. */
struct lhi_place lhi_place_live(const struct shm_header *h);

/*
 * Returns 0 if the file is the one in which the table of this header was made;
 * -EUCLEAN: it is a copy, or was kept over a restart; -EXDEV: it is not known.
 */
int lhi_place_check(const struct shm_header *h, int fd, const char *path);

/* True if the table of this header was made since this machine was started. */
bool lhi_place_is_of_this_boot(const struct shm_header *h);

#endif
