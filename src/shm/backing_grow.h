/* SPDX-License-Identifier: MIT */
/* Memory for more of a table: see backing_grow.c. */
#ifndef LHI_BACKING_GROW_H
#define LHI_BACKING_GROW_H

#include "shm/view.h"

/* The initial sizes of a table, or its maxima if those are less. */
#define GROW_SLOTS	4096u
#define GROW_LONGS	1024u
#define GROW_CHUNKS	256u

/* Into how many pieces any part grows from its initial to its greatest size, at
 * most: a caller that grew it more often was deceived. */
#define LHI_GROWS_MAX	8192u

/*
 * More slots (and buckets), long keys, chunks of claims.  Each returns 1: there
 * are more now; 0: there are as many as possible; else an error of
 * lhi_grow_part().
 */
int lhi_grow_slots(struct lhi_view *v);
int lhi_grow_longs(struct lhi_view *v);
int lhi_grow_chunks(struct lhi_view *v);
int lhi_grow_values(struct lhi_view *v);	/* there are none at first */

/* Gives a part of the object memory of its own; `base`, where the object is
 * mapped, or NULL. Returns 0; -errno, without a detail. */
int lhi_grow_back(int fd, char *base, uint64_t off, uint64_t len);

/* The same for a part of a table that is in use.  Returns 0; -ENOSPC; -EUCLEAN:
 * the object was truncated; -EMFILE, -ENFILE, -ESTALE, -EACCES: it needs a
 * descriptor.  `use` ("grow") and `lacks` ("keys") are for the detail. */
int lhi_grow_part(struct lhi_view *v, uint64_t off, uint64_t len,
    const char *use, const char *lacks);

#endif
