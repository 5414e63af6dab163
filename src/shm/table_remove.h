/* SPDX-License-Identifier: MIT */
/* Tables that are removed, and what the next must know: see table_remove.c. */
#ifndef LHI_TABLE_REMOVE_H
#define LHI_TABLE_REMOVE_H

#include "shm/view.h"

/* How far the removal of a table has got: removal_mark.c. */
enum lhi_removal {
	LHI_REMOVAL_NONE,
	LHI_REMOVAL_BEGUN,	/* or it was made too late to know of another */
	LHI_REMOVAL_MARKED,	/* by its owner; its words do not say so */
	LHI_REMOVAL_CLAIMED,	/* by its words alone, which members write */
	LHI_REMOVAL_BELOW	/* used, and its tokens are below the floor */
};

/* Returns which holds for the table that is open as fd; or an error of
 * lhi_table_floor_read(). */
int lhi_table_remove_due(const char *path, int fd, const struct shm_header *h,
    const struct lhi_geometry *g);

/* Clears the mark of a removal that changed nothing else.  Returns 0; -EAGAIN:
 * a process is removing the table; -EACCES: that is for its owner and root. */
int lhi_table_remove_settle(const char *path, int fd);

/*
 * Remove the table that fd is a description of, opened for this alone, and
 * which v shows; no more tokens come from it than its successor knows of.
 * The caller holds the removal lock (removal_lock.h) and closes fd.
 * Again is harmless.  0; -ENOENT: the name is gone, or another's; -EACCES;
 * -EINPROGRESS: the table is retired, and its name could not be removed;
 * -EUCLEAN; -errno.
 */
int lhi_table_remove_carry_out(const char *path, int fd, struct lhi_view *v);

/* The same for an object that is no table of ours: without its header.  Its
 * users lose what they hold. */
int lhi_table_remove_foreign(const char *path, int fd);

/* Completes a removal that was begun (LHI_REMOVAL_BEGUN).  Returns 0; -EAGAIN:
 * another process is removing the table, or has just ended; -EACCES; -errno. */
int lhi_table_remove_finish(const char *path, int fd,
    const struct lhi_geometry *g);

#endif
