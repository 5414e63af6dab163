/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2, invariant I4 of op/token_ceiling.c: a table's maker is stopped
 * between the claim of its first range and the naming of the object, while
 * another table of that name is made, used and lost.  The late table must grant
 * nothing while the disk is away, because nobody can see that its range is the
 * highest.  When the disk has answered once, the table goes on without the
 * disk.
 *
 * Otherwise its ephemeral grants would have tokens below those that the key had
 * in scope local.
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
		/* repeatedly: there are several paths to a grant */
		is(fence_token(late, "k", LH_LOCAL, &token), -EIO,
		    "no grant in scope local");
		is(fence_token(late, "k", LH_EPHEMERAL, &token), -EIO,
		    "nor ephemeral: the key may have been local before");
		ok(t_has_detail(), "and the error says so");
		is(lh_acquire(late, "k", NULL, &l), -EIO,
		    "nor without options");
		is(lh_acquire(late, "k", &shared, &l), -EIO, "nor as a reader");
		t_sleep_ms(9);		/* the clock ticks */
	}
	disk_comes_back(&m);
	is(fence_token(late, "k", LH_EPHEMERAL, &token), 0,
	    "with the disk, scope ephemeral is granted");
	cmp(token, >, last, "with a larger token");
	fence_larger(late, "k", &token, "then scope local");
	disk_goes_away(&m);
	is(fence_token(late, "plain", LH_EPHEMERAL, &token), 0,
	    "without the disk, ephemeral keys go on");
	lh = fence_open(m.table);
	is(fence_token(lh, "plain", LH_EPHEMERAL, &token), 0,
	    "also for a process that opens the table now");
	disk_comes_back(&m);
	fence_larger(lh, "k", &token, "local again");
	t_close(lh);
	t_close(late);
	return done();
}
