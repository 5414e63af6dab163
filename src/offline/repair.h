/* SPDX-License-Identifier: MIT */
/* Making a damaged table sound again: see repair.c. */
#ifndef LHI_REPAIR_H
#define LHI_REPAIR_H

#include "shm/view.h"

struct lhi_repair {
	struct lhi_view *v;
	int fd;			/* of the object; -1: change only the mapping,
				 * which is a private one */
	uint64_t above;		/* tokens go on from here */
};

/*
 * Mend everything behind the header's facts.  The caller has seen to it that
 * nobody is attached, and that nobody can; what was wrong, the checker has said
 * (offline/check.c).  Killed anywhere, done again, it gives the same.
 * 0; -ENOSPC: no memory to back what is in use; -EUCLEAN; -errno.
 */
int lhi_repair(struct lhi_repair *m);

/* After lhi_repair(), and after whatever else has to be seen: it may be
 * used. */
void lhi_repair_done(struct lhi_view *v);

/* repair_keys.c: every slot, long key and bucket, the claims being free. */
int lhi_repair_keys(struct lhi_repair *m);

/* repair_values.c: every value, the keys being mended. */
void lhi_repair_values(struct lhi_repair *m);

/* The ceiling, if it is one; else 0. */
uint64_t lhi_repair_ceiling(const struct lhi_view *v);

#endif
