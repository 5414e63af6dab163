/* SPDX-License-Identifier: MIT */
/* Where the tokens of a new table begin: see durable.c. */
#ifndef LHI_DURABLE_H
#define LHI_DURABLE_H

#include <leasehold/table.h>
#include "fence/range.h"

struct lhi_beginning {
	uint64_t uuid[2];
	uint64_t base;		/* its tokens are above it */
	uint64_t end;		/* and below this, at first */
	char fence_dir[FENCE_DIR_MAX];	/* "": it has no fence file */
};

/*
 * For the table whose object will have that path, whose name's tokens have got
 * as far as `floor`: its uuid, and, if one is asked for, its first range, on
 * disk when this returns.  0; -EINVAL, -ENAMETOOLONG: no such fence directory;
 * -errno of the disk.
 */
int lhi_durable_begin(const char *path, const struct lh_open_opts *opts,
    uint64_t floor, struct lhi_beginning *b);

/* What the wall clock says: a token. */
uint64_t lhi_durable_clock(void);

#endif
