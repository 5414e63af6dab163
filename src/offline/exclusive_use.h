/* SPDX-License-Identifier: MIT */
/* A table that no other process uses: see exclusive_use.c. */
#ifndef LHI_EXCLUSIVE_USE_H
#define LHI_EXCLUSIVE_USE_H

#include "shm/table_object.h"
#include "shm/view.h"

struct lhi_exclusive_use {
	struct lhi_view v;	/* its path is set by the caller */
	char *base;
	int fd;			/* the object; -1: not open */
	int live_fd;		/* its live file; holds the locks; or -1 */
	int removal;		/* what removal_lock.h gave; or -1 */
};

/*
 * Opens the live file of the object that a->fd was opened as, and maps the
 * object.  `private`: our stores are not visible to others.  Ended by
 * lhi_exclusive_use_unmap(), even after an error; the caller closes fd.
 * Returns 0; -ENOMEM; an error of lhi_live_file_open(), if only that is
 * missing.
 */
int lhi_exclusive_use_map(struct lhi_exclusive_use *a,
    const struct lhi_geometry *g, const struct lhi_object_id *id, bool private);
void lhi_exclusive_use_unmap(struct lhi_exclusive_use *a);

/*
 * Locks the table's name for a removal; the live file's byte for removals; and,
 * unless `in_use` is allowed, all sessions' bytes: until
 * lhi_exclusive_use_unmap(). `remedy` is the end of the sentence that names the
 * blocking process.  Returns 0; -EBUSY; -errno.
 */
int lhi_exclusive_use_lock(struct lhi_exclusive_use *a, bool in_use, const char
    *remedy);

/* Locks only the name and the byte of removals, and ignores if another process
 * has locked that byte.  Returns 0; -EBUSY, also if the name leads to another
 * object by now; -errno. */
int lhi_exclusive_use_force(struct lhi_exclusive_use *a);

/* Checks that no named session lives, which is a user without a process.
 * Returns 0; -EBUSY: one does, and `remedy` is the alternative. */
int lhi_exclusive_use_no_named(struct lhi_view *v, const char *remedy);

#endif
