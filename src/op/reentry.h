/* SPDX-License-Identifier: MIT */
/* Counted re-entry: see reentry.c. */
#ifndef LHI_REENTRY_H
#define LHI_REENTRY_H

#include "op/acquire.h"

/* Acquires for the holder named in `ask`: returns the lease that it has, or
 * acquires one with fn. */
int lhi_reentry_acquire(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *lease,
    lhi_acquire_fn *fn);

/* The same in steps, for a caller without a thread to wait in. */
enum {				/* besides 0 and -errno */
	HOLDER_NEW = 1,		/* acquire, then call lhi_reentry_finish() */
	HOLDER_WAITS = 2	/* another thread is acquiring: try again */
};

/* Enters the holder's lease once more.  Returns 0 with that lease in *lease,
 * HOLDER_..., or -errno. */
int lhi_reentry_enter(struct lh *lh, const struct lhi_key_name *name,
    const struct lhi_acquire_request *ask, struct lh_lease *lease);

/* Completes a call that returned HOLDER_NEW: the holder has that lease; NULL:
 * it has none. */
void lhi_reentry_finish(struct lh *lh, const struct lhi_key_name *name,
    const char *holder, const struct lh_lease *lease);

/* Called before a lease is released, and unchecked.  Returns true if its holder
 * has acquired it more often than released it; then *l is marked as released,
 * and the lease stays. */
bool lhi_reentry_leave(struct lh *lh, struct lh_lease *l);

/* Notes that the lease with that id is being converted; or, if `begins` is
 * false, that the conversion has ended. */
void lhi_reentry_set_moving(struct lh *lh, uint64_t id, bool begins);

/* Replaces the lease with that id, which was converted, by *to. */
void lhi_reentry_replace_lease(struct lh *lh, uint64_t id,
    const struct lh_lease *to);

/* Frees all holds, when the attachment is closed. */
void lhi_reentry_end(struct lh *lh);

#endif
