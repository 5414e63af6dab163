/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2 in scope local: a table is removed, by lh_table_remove(), by
 * force under its users, or by hand with its floor.  Each time the next table
 * of that name gives larger tokens, in every mode, and tokens that the old
 * table's users still get are smaller.
 *
 * Otherwise a removal would let tokens be given twice.
 */
#include "fence.h"

static uint64_t last;

static void
use(struct lh *lh)
{
	struct lh_acquire_opts a = t_opts(60000, 0);
	struct lh_lease l;

	fence_larger(lh, "k", &last, "exclusive");
	a.scope = LH_LOCAL;
	a.mode = LH_SHARED;
	is(lh_acquire(lh, "k", &a, &l), 0, "shared");
	cmp(l.token, >, last, "with a larger token");
	last = l.token;
	is(lh_convert(lh, &l, LH_EXCLUSIVE), 0, "upgraded");
	cmp(l.token, >, last, "with a larger token");
	last = l.token;
	is(lh_convert(lh, &l, LH_SHARED), 0, "downgraded");
	cmp(l.token, >, last, "with a larger token");
	last = l.token;
	is(lh_release(lh, &l), 0, "released");
}

static void
forget_floor(const char *table)
{
	char link[200];

	snprintf(link, sizeof(link), "/dev/shm/leasehold.%u/%s.floor",
	    (unsigned)geteuid(), table);
	unlink(link);
}

int
main(void)
{
	const char *table = t_table();
	struct lh *lh = fence_open(table), *old;
	uint64_t before, highest;
	char floor[200];

	snprintf(floor, sizeof(floor), "/dev/shm/leasehold.%u/%s.floor",
	    (unsigned)geteuid(), table);
	t_remove_at_exit(floor);
	use(lh);
	cmp(last, <, UINT64_C(10) << 32, "without the clock tokens are small");
	t_close(lh);
	is(lh_table_remove(table, 0), 0, "removed");
	lh = fence_open(table);
	use(lh);

	old = lh;
	before = last;
	is(lh_table_remove(table, LH_FORCE), 0, "retired under its user");
	lh = fence_open(table);
	use(lh);
	is(fence_token(old, "k", LH_LOCAL, &before), -ESTALE,
	    "the old table's user gets the error");
	is(lh_close(old), 0, "and closes");

	t_close(lh);
	for (int i = 0; i < 3; i++) {
		is(unlink(t_object(table)), 0, "removed by hand");
		forget_floor(table);
		lh = fence_open(table);
		use(lh);
		is(lh_close(lh), 0, "closed");
	}
	cmp(fence_count(table, &highest), >=, 5, "a range for each");
	return done();
}
