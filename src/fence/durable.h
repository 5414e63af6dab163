/* SPDX-License-Identifier: MIT */
/* Chooses where the tokens of a new table begin: see durable.c. */
#ifndef LHI_DURABLE_H
#define LHI_DURABLE_H

#include <leasehold/table.h>
#include "fence/range.h"

struct lhi_beginning {
	uint64_t uuid[2];
	uint64_t base;		/* its tokens are above this */
	uint64_t end;		/* and at first below this */
	char fence_dir[FENCE_DIR_MAX];	/* "": no fence files */
};

/*
 * Chooses the uuid and the first range of tokens of a new table.  `path` is
 * that of its object; the tokens of earlier tables of its name were below
 * `floor`.  If fence files are requested, the range is on disk when this
 * returns.  Returns 0; -EINVAL or -ENAMETOOLONG (no valid fence directory); or
 * -errno of the disk.
 */
int lhi_durable_begin(const char *path, const struct lh_open_opts *opts,
    uint64_t floor, struct lhi_beginning *b);

/* Returns the token that corresponds to the wall clock. */
uint64_t lhi_durable_clock(void);

#endif
