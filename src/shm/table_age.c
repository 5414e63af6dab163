/* SPDX-License-Identifier: MIT */
/*
 * The age of a table: whether a deadline can still be expressed.
 *
 * A deadline has 38 bits of 2^20 ns, counted from the table's making: they
 * reach for 2^58 ns, 9 years and 48 days.  A table is used no longer than that.
 *
 *	age			what happens
 *	8 years 17 days		`leasehold stats` and `fsck` warn; lh_stats()
 *				always reports the time left
 *	9 years 17 days		AGE_GRANTS_NS: nothing is granted, extended or
 *				renewed any more: -EOVERFLOW.  Leases can still
 *				be released, verified, converted and handed
 *				over, until they end
 *	9 years 48 days		AGE_MAX_NS: every lease with a deadline has
 *				ended by it, and those of policy strict, which
 *				have none, go on
 *
 * Invariants.
 *  I1	DEADLINE_MAX is the deadline of strict leases only: a computed deadline
 *	is less (lhi_deadline()), and DEADLINE_MAX means "never"
 *	(lhi_deadline_ns()).
 *  I2	A grant or extension was requested at an age below AGE_GRANTS_NS, or by
 *	a thread that was stopped since for less than a day; one that was
 *	stopped for longer finds its deadline passed and undoes it (G3).
 *
 * The straight paths read the age once a tick, with the clock
 * (proc/claim_cache.c): from then on a cache remembers nothing, and the slow
 * path reports the reason.  Nothing is written to shared memory, so a crash
 * leaves nothing behind.
 */
#include <errno.h>
#include "base/error.h"
#include "shm/table_age.h"
#include "shm/table_words.h"

int
lhi_table_age_check(const struct lhi_view *v, int64_t now_ns)
{
	if (lhi_table_age_left_ns(v, now_ns) > 0)
		return 0;
	return lhi_fail(-EOVERFLOW, "%s is more than nine years old, and its "
	    "deadlines reach no further, so that nothing can be granted or "
	    "extended there: end its users, remove it (leasehold rm%s), and "
	    "start them again", v->path, TABLE_WORDS(v->path));
}
