/* SPDX-License-Identifier: MIT */
/* The table's object: made, published, opened, checked. See table_object.c. */
#ifndef LHI_TABLE_OBJECT_H
#define LHI_TABLE_OBJECT_H

#include <sys/types.h>
#include <stddef.h>
#include <leasehold/table.h>
#include "shm/view.h"

/* Returns the table's name: NULL: $LEASEHOLD_TABLE, or "default" */
const char *lhi_object_name(const char *name);

/* True if that table is the machine's: by the flag, or, if the environment
 * gives the name, by $LEASEHOLD_SYSTEM (1). */
bool lhi_object_is_system(const char *name, uint32_t flags);

/* The object's path for a table name: 0; -EINVAL, -ENAMETOOLONG. */
int lhi_object_path(char *path, size_t len, const char *name, bool system_wide);

/* Makes a table and gives it its name in one step.  Returns 0; -EEXIST: another
 * process was first, without a detail; -ENOSPC, -EACCES, -EINVAL, -errno. */
int lhi_object_create(const char *path, const struct lh_open_opts *opts);

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

/* Purposes of an open. */
enum lhi_purpose {
	LHI_TO_USE,
	LHI_TO_FIND,	/* without making it: a removal that was begun is
			 * -ENOENT, and left as it is */
	LHI_TO_LOOK,	/* also if its words say that it is being repaired or
			 * removed, which any member may have written */
	LHI_TO_REPAIR,	/* the same, and its growth may be damaged */
	LHI_TO_REMOVE	/* by force: its words are not believed */
};

/*
 * Opens the object and checks that it is a table that this build can use: *geo
 * and *id describe it.  Unless it is only to be found or looked at, completes a
 * removal that was begun, which is -ENOENT then.  Returns a descriptor;
 * -EAGAIN: it is being removed or repaired; or -errno.
 */
int lhi_object_open(const char *path, enum lhi_purpose purpose,
    struct lhi_geometry *geo, struct lhi_object_id *id);

/*
 * Opens the file of that name, if it is a regular one and its owner is right,
 * for O_RDWR or O_RDONLY. Root inspects and removes the machine's tables
 * whatever their owner.
 */
int lhi_object_open_any(const char *path, int access);

/*
 * Compares a header with itself, with a file of len bytes, and with this build.
 * Returns 0, and *geo describes it; -EPROTO, -EUCLEAN. lhi_object_check() also
 * checks its growth.
 */
int lhi_object_identify(const struct shm_header *h, const char *path,
    off_t len, struct lhi_geometry *geo);
int lhi_object_check(const struct shm_header *h, const char *path, off_t len,
    struct lhi_geometry *geo);

/* Returns the right value of header_sum. */
uint64_t lhi_object_sum(const struct shm_header *h);

/*
 * Repairs the facts of a copy of a header, if one bit of them or of their sum
 * is all that was changed.  Returns 1, and *off is the word of 8 bytes that it
 * is in; 0: they fit as they are; -EUCLEAN: it was more than that.
 */
int lhi_object_correct(struct shm_header *h, size_t *off);

#endif
