/* SPDX-License-Identifier: MIT */
/* The table's object: made, published, opened, checked.  See table_object.c. */
#ifndef LHI_TABLE_OBJECT_H
#define LHI_TABLE_OBJECT_H

#include <sys/types.h>
#include <stddef.h>
#include <leasehold/table.h>
#include "shm/view.h"

/* The name of the table that is meant: NULL: $LEASEHOLD_TABLE, or "default" */
const char *lhi_object_name(const char *name);

/* True if that table is the machine's: by the flag, or, where the environment
 * gives the name, by $LEASEHOLD_SYSTEM (1). */
bool lhi_object_is_system(const char *name, uint32_t flags);

/* The object's path for a table name: 0; -EINVAL, -ENAMETOOLONG. */
int lhi_object_path(char *path, size_t len, const char *name, bool system_wide);

/*
 * Make a table and give it its name in one step.  0; -EEXIST: somebody else
 * was first, and nothing has been said; -ENOSPC, -EACCES, -EINVAL, -errno.
 */
int lhi_object_create(const char *path, const struct lh_open_opts *opts);

/*
 * Open the object and check that it is a table that this build can use:
 * *geo and *id say what it is.  A removal that was begun is completed, which is
 * -ENOENT then.  A descriptor; -EAGAIN: somebody is removing or repairing it;
 * or -errno.
 */
struct lhi_object_id {
	dev_t dev;
	ino_t ino;
	struct lhi_place live;		/* which file is its live file */
	int64_t t0_ns;
	uint32_t order;
	clockid_t clock;
	uint64_t uuid[2];
	char ranges[RANGE_PATH_MAX];	/* "": it has no fence file */
};

int lhi_object_open(const char *path, struct lhi_geometry *geo,
    struct lhi_object_id *id);

/* The same for who will mend it: how far it has grown may be damaged, and a
 * repair may have been begun. */
int lhi_object_open_to_repair(const char *path, struct lhi_geometry *geo,
    struct lhi_object_id *id);

/* Opens what has the name, if it is a file at all and its owner is right, for
 * O_RDWR or O_RDONLY.  Root looks at the machine's, and removes them, whomever
 * they belong to. */
int lhi_object_open_any(const char *path, int access);

/*
 * Does a header agree with itself, with a file of len bytes, and with this
 * build?  0, and *geo says what it is of; -EPROTO, -EUCLEAN.
 * lhi_object_check() asks as well whether it may have grown so far.
 */
int lhi_object_identify(const struct shm_header *h, const char *path,
    off_t len, struct lhi_geometry *geo);
int lhi_object_check(const struct shm_header *h, const char *path, off_t len,
    struct lhi_geometry *geo);

/* What header_sum has to be. */
uint64_t lhi_object_sum(const struct shm_header *h);

/*
 * Makes the facts of a copy of a header fit their sum, if one bit of either is
 * all that was changed: 1, and *off says which word of 8 bytes it is in; 0:
 * they fit as they are; -EUCLEAN: it was more than that.
 */
int lhi_object_correct(struct shm_header *h, size_t *off);

#endif
