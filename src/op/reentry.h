/* SPDX-License-Identifier: MIT */
/* Counted re-entry.  See reentry.c. */
#ifndef LHI_REENTRY_H
#define LHI_REENTRY_H

#include "op/acquire.h"

/* Acquires for the holder that ask names: the lease that it has, or by fn. */
int lhi_reentry_acquire(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *lease,
    lhi_acquire_fn *fn);

/* The same in steps, for a caller that has no thread to wait in. */
enum {				/* beside 0 and -errno */
	HOLDER_NEW = 1,		/* acquire for it, then call finish */
	HOLDER_WAITS = 2	/* another thread does: try again */
};

/* Enters the holder's lease once more.  0: *lease is that lease. */
int lhi_reentry_enter(struct lh *lh, const struct lhi_key_name *name,
    const struct lhi_acquire_request *ask, struct lh_lease *lease);

/* Ends what returned HOLDER_NEW: the holder has that lease; NULL: it has
 * none. */
void lhi_reentry_finish(struct lh *lh, const struct lhi_key_name *name,
    const char *holder, const struct lh_lease *lease);

/*
 * Called before a lease is released (and not checked yet).  True: its holder
 * has acquired it once more than released it since; *l is marked as released,
 * and the lease stays.
 */
bool lhi_reentry_leave(struct lh *lh, struct lh_lease *l);

/* Notes that the lease with that id is being converted, until it is replaced
 * below; or (begins false) that the conversion is over. */
void lhi_reentry_set_moving(struct lh *lh, uint64_t id, bool begins);

/* Replaces the lease with that id, which was converted, by *to. */
void lhi_reentry_replace_lease(struct lh *lh, uint64_t id,
    const struct lh_lease *to);

/* Frees all holds: the attachment ends. */
void lhi_reentry_end(struct lh *lh);

#endif
