/* SPDX-License-Identifier: MIT */
/* Repair of a damaged table: see repair.c. */
#ifndef LHI_REPAIR_H
#define LHI_REPAIR_H

#include "shm/view.h"

struct lhi_repair {
	struct lhi_view *v;
	int fd;			/* of the object; -1: change only the mapping,
				 * which is a private one */
	uint64_t above;		/* tokens continue from here */
};

/*
 * Repairs everything behind the header's facts.  The caller has ensured that no
 * process is attached or can attach; the checker has reported the damage
 * (offline/check.c). Killed anywhere and done again, it has the same result.
 * Returns 0; -ENOSPC: no memory for what is in use; -EUCLEAN; -errno.
 */
int lhi_repair(struct lhi_repair *m);

/* Marks the table as usable again, after lhi_repair() and all other checks. */
void lhi_repair_done(struct lhi_view *v);

/* repair_keys.c: every slot, long key and bucket, after the claims are free. */
int lhi_repair_keys(struct lhi_repair *m);

/* repair_values.c: every value, after the keys are repaired. */
void lhi_repair_values(struct lhi_repair *m);

/* Returns the ceiling, if it is plausible; else 0. */
uint64_t lhi_repair_ceiling(const struct lhi_view *v);

#endif
