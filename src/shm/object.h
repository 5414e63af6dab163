/* SPDX-License-Identifier: MIT */
/* The table's object: made, published, opened, checked.  See object.c. */
#ifndef LHI_OBJECT_H
#define LHI_OBJECT_H

#include <stddef.h>
#include <leasehold/table.h>
#include "shm/view.h"

/* The object's path for a table name: 0; -EINVAL, -ENAMETOOLONG. */
int lhi_object_path(char *path, size_t len, const char *name, bool system_wide);

/*
 * Make a table and give it its name in one step.  0; -EEXIST: somebody else
 * was first, and nothing has been said; -ENOSPC, -EACCES, -EINVAL, -errno.
 */
int lhi_object_create(const char *path, const struct lh_open_opts *opts);

/*
 * Open the object and check that it is a table that this build can use:
 * *geo and *id say what it is.  A descriptor, or -errno.
 */
struct lhi_object_id {
	dev_t dev;
	ino_t ino;
	int64_t t0_ns;
	uint32_t order;
};

int lhi_object_open(const char *path, bool system_wide,
    struct lhi_geometry *geo, struct lhi_object_id *id);

/* A second description of the same object: a descriptor, or -errno. */
int lhi_object_reopen(const char *path, const struct lhi_object_id *id);

#endif
