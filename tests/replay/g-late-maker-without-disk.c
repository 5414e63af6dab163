/* SPDX-License-Identifier: MIT */
/*
 * I4 of op/fence.c: a table's maker is stopped between claiming its first range
 * and naming the object; meanwhile another table was made, used and lost.  Who
 * opens the late one claims a range above; but if the disk is away just then
 * that was not asked any more, and ephemeral grants had tokens below those that
 * the key had had in scope local.  Now such a table grants nothing until the
 * disk has answered once; then it goes on without the disk.
 */
#include "replay.h"
#include "behaviour/fence.h"
#include "proc/lh.h"

static const char *table;

static int
make(void *arg)
{
	struct lh_open_opts o = fence_opts();

	return lh_open(arg, table, &o);
}

int
main(void)
{
	struct lh_acquire_opts shared = t_opts(30000, 0);
	char away[FENCE_PATH + 200];
	struct lh *lh, *late;
	uint64_t last = 0, token = 0;
	struct lh_lease l;

	table = replay_begin();
	(void)fence_dir();
	shared.mode = LH_SHARED;
	replay_hold("maker", "object.filled");
	replay_go("maker", make, &late);
	replay_wait_held("maker");
	lh = fence_open(table);
	fence_larger(lh, "k", &last, "another table");
	is(lh_close(lh), 0, "closed");
	is(unlink(t_object(table)), 0, "and lost");
	snprintf(away, sizeof(away), "%s.away", fence_ranges(table));
	is(rename(fence_ranges(table), away), 0, "the disk is away");
	replay_release("maker");
	is(replay_result("maker"), 0, "the late one is there");
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
	is(rename(away, fence_ranges(table)), 0, "the disk is there again");
	is(fence_token(late, "k", LH_EPHEMERAL, &token), 0, "ephemeral");
	cmp(token, >, last, "with a larger token");
	fence_larger(late, "k", &token, "then local");
	is(rename(fence_ranges(table), away), 0, "the disk is away");
	is(fence_token(late, "plain", LH_EPHEMERAL, &token), 0,
	    "now that is nothing to ephemeral ones");
	lh = fence_open(table);
	is(fence_token(lh, "plain", LH_EPHEMERAL, &token), 0,
	    "nor to who opens it now");
	is(rename(away, fence_ranges(table)), 0, "the disk is there again");
	fence_larger(lh, "k", &token, "local again");
	t_close(lh);
	t_close(late);
	return done();
}
