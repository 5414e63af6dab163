/* SPDX-License-Identifier: MIT */
/* Counted re-entry.  See reentry.c. */
#ifndef LHI_REENTRY_H
#define LHI_REENTRY_H

#include "op/acquire.h"

/* Acquire for the holder that ask names: the lease that it has, or by fn. */
int lhi_reentry_acquire(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *lease,
    lhi_acquire_fn *fn);

/* The same in steps, for who has no thread to wait in. */
enum {				/* beside 0 and -errno */
	HOLDER_NEW = 1,		/* acquire for it, and tell: below */
	HOLDER_WAITS = 2	/* somebody else does: ask again */
};

/* 0: it has the key, and has entered it once more: *lease. */
int lhi_reentry_ask(struct lh *lh, const struct lhi_key_name *name,
    const struct lhi_acquire_request *ask, struct lh_lease *lease);

/* It was HOLDER_NEW: that is its lease; NULL: it got none. */
void lhi_reentry_told(struct lh *lh, const struct lhi_key_name *name,
    const char *holder, const struct lh_lease *lease);

/*
 * A lease is about to be released (not checked yet).  True: its holder has
 * acquired it once more than released it since; *l is released now, and there
 * is nothing else to do.
 */
bool lhi_reentry_stays(struct lh *lh, struct lh_lease *l);

/* The lease with that id is about to be converted, which is told below if it
 * succeeds; or (begins false) that is over. */
void lhi_reentry_moves(struct lh *lh, uint64_t id, bool begins);

/* The lease with that id has become *to. */
void lhi_reentry_follow(struct lh *lh, uint64_t id, const struct lh_lease *to);

/* The attachment ends. */
void lhi_reentry_end(struct lh *lh);

#endif
