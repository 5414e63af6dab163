/* SPDX-License-Identifier: MIT */
/* A table with nobody in it but us: see exclusive_use.c. */
#ifndef LHI_EXCLUSIVE_USE_H
#define LHI_EXCLUSIVE_USE_H

#include "shm/table_object.h"
#include "shm/view.h"

struct lhi_exclusive_use {
	struct lhi_view v;	/* its path is set by the caller */
	char *base;
	int fd;			/* the object; -1: it is not open */
	int live_fd;		/* its live file; holds the locks; or -1 */
	int removal;		/* what removal_lock.h gave; or -1 */
};

/*
 * Opens the live file of the object that a->fd was opened as, and maps that.
 * `private`: what is stored stays with us.  Ended by lhi_exclusive_use_unmap(),
 * even after an error; the caller closes fd.  0; -ENOMEM; an error of
 * lhi_live_file_open(), where that is all that is missing.
 */
int lhi_exclusive_use_map(struct lhi_exclusive_use *a,
    const struct lhi_geometry *g, const struct lhi_object_id *id, bool private);
void lhi_exclusive_use_unmap(struct lhi_exclusive_use *a);

/*
 * Locks the table's name for a removal; its live file's byte that tells of one;
 * and, unless `in_use` is allowed, all sessions': held until
 * lhi_exclusive_use_unmap().  `remedy` is the end of the sentence that names
 * who is in the way.  0; -EBUSY; -errno.
 */
int lhi_exclusive_use_lock(struct lhi_exclusive_use *a, bool in_use, const char
    *remedy);

/* Locks only the name and the byte of removals, which another process may have
 * locked: that is not asked.  0; -EBUSY; -errno. */
int lhi_exclusive_use_force(struct lhi_exclusive_use *a);

/* Checks that no named session lives, which is a user without a process.  0;
 * -EBUSY: one does, and what else can be done is `remedy`. */
int lhi_exclusive_use_no_named(struct lhi_view *v, const char *remedy);

#endif
