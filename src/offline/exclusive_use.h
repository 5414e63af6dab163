/* SPDX-License-Identifier: MIT */
/* A table with nobody in it but us: see exclusive_use.c. */
#ifndef LHI_EXCLUSIVE_USE_H
#define LHI_EXCLUSIVE_USE_H

#include "shm/table_object.h"
#include "shm/view.h"

struct lhi_exclusive_use {
	struct lhi_view v;	/* its path is set by the caller */
	char *base;
	int fd;			/* holds the locks; -1: it is not open */
};

/*
 * Map the object that a->fd was opened as.  `private`: what is stored stays
 * with us.  Ended by lhi_exclusive_use_unmap(); the caller closes fd.  0;
 * -ENOMEM.
 */
int lhi_exclusive_use_map(struct lhi_exclusive_use *a,
    const struct lhi_geometry *g, const struct lhi_object_id *id, bool private);
void lhi_exclusive_use_unmap(struct lhi_exclusive_use *a);

/*
 * Lock the removal's byte, and, unless `in_use` is allowed, all sessions': held
 * until fd is closed.  `remedy` is the end of the sentence that names who is in
 * the way.  0; -EBUSY; -errno.
 */
int lhi_exclusive_use_lock(struct lhi_exclusive_use *a, bool in_use, const char
    *remedy);

/* Checks that no named session lives, which is a user without a process.  0;
 * -EBUSY: one does, and what else can be done is `remedy`. */
int lhi_exclusive_use_no_named(struct lhi_view *v, const char *remedy);

#endif
