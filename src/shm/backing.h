/* SPDX-License-Identifier: MIT */
/* How much of a table has memory: see backing.c. */
#ifndef LHI_BACKING_H
#define LHI_BACKING_H

#include <stdbool.h>
#include "shm/layout.h"

/* How much of each array is ready. */
struct lhi_backing {
	uint32_t slots, chunks, longs, level, values;
};

/* A part of the object. */
struct lhi_span {
	uint64_t off, len;
};

#define LHI_SPANS 6

/* Returns what a table begins with. */
struct lhi_backing lhi_backing_first(const struct lhi_geometry *g);

/* Returns how far it has grown. False: the counts are not possible. */
bool lhi_backing_of(const struct shm_header *h, const struct lhi_geometry *g,
    struct lhi_backing *e);

/* Returns the parts of the object that must have memory for that. */
void lhi_backing_spans(const struct lhi_geometry *g,
    const struct lhi_backing *e, struct lhi_span s[LHI_SPANS]);

/* True if there is memory for all of it that is ready.  (The header was read
 * before the file is asked.) */
bool lhi_backing_backed(int fd, const struct shm_header *h,
    const struct lhi_geometry *g);

/* Finds how far it must have grown, whatever its header says: as far as the
 * file has data.  Not less than it begins with.  Returns 0; -errno. */
int lhi_backing_seen(int fd, const struct lhi_geometry *g,
    struct lhi_backing *e);

/* Reports that there are no addresses to map an object of that length, with the
 * limit of this process and the remedy.  Returns -ENOMEM. */
int lhi_backing_fail_map(const char *path, uint64_t len);

#endif
