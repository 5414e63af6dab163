/* SPDX-License-Identifier: MIT */
/*
 * I4 of op/token_ceiling.c: a table's maker is stopped between claiming its
 * first range and naming the object; meanwhile another table was made, used and
 * lost.  Who opens the late one claims a range above; but if the disk is away
 * just then that was not asked any more, and ephemeral grants had tokens below
 * those that the key had had in scope local.  Now such a table grants nothing
 * until the disk has answered once; then it goes on without the disk.
 */
#include "ranges.h"

int
main(void)
{
	struct lh_acquire_opts shared = t_opts(30000, 0);
	struct late_maker m;
	uint64_t last = come_late(&m), token = 0;
	struct lh *lh, *late = m.lh;
	struct lh_lease l;

	shared.mode = LH_SHARED;
	for (int i = 0; i < 3; i++) {
		/* again and again: there is more than one way to a grant */
		is(fence_token(late, "k", LH_LOCAL, &token), -EIO, "not local");
		is(fence_token(late, "k", LH_EPHEMERAL, &token), -EIO,
		    "nor ephemeral: it may have been granted local before");
		ok(t_has_detail(), "which is said");
		is(lh_acquire(late, "k", NULL, &l), -EIO, "without options");
		is(lh_acquire(late, "k", &shared, &l), -EIO, "as a reader");
		t_sleep_ms(9);		/* the clock ticks */
	}
	disk_comes_back(&m);
	is(fence_token(late, "k", LH_EPHEMERAL, &token), 0, "ephemeral");
	cmp(token, >, last, "with a larger token");
	fence_larger(late, "k", &token, "then local");
	disk_goes_away(&m);
	is(fence_token(late, "plain", LH_EPHEMERAL, &token), 0,
	    "now that is nothing to ephemeral ones");
	lh = fence_open(m.table);
	is(fence_token(lh, "plain", LH_EPHEMERAL, &token), 0,
	    "nor to who opens it now");
	disk_comes_back(&m);
	fence_larger(lh, "k", &token, "local again");
	t_close(lh);
	t_close(late);
	return done();
}
