/* SPDX-License-Identifier: MIT */
/* The greatest age of a table: see table_age.c. */
#ifndef LHI_TABLE_AGE_H
#define LHI_TABLE_AGE_H

#include <leasehold/lease.h>
#include "shm/view.h"

/*
 * Ages, counted from its making.  Deadlines reach to AGE_MAX_NS. A lease that
 * is granted before AGE_GRANTS_NS ends before that, whatever its ttl, with a
 * day to spare for a thread that was stopped between reading the clock and
 * granting.
 */
#define AGE_MAX_NS ((int64_t)(DEADLINE_MAX << TICK_SHIFT))
#define AGE_GRANTS_NS \
	(AGE_MAX_NS - (LH_TTL_MAX_MS + 24 * 3600 * 1000) * NS_PER_MS)

/* Returns for how long leases can still be granted and extended; not above 0:
 * no more. */
static inline int64_t
lhi_table_age_left_ns(const struct lhi_view *v, int64_t now_ns)
{
	return lhi_mutant_on(ages_for_ever) ? NS_PER_SEC :
	    AGE_GRANTS_NS - (now_ns - v->t0_ns);
}

/* 0; -EOVERFLOW: the table is too old to grant or extend anything. */
int lhi_table_age_check(const struct lhi_view *v, int64_t now_ns);

#endif
