/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2 in scope local: memory and disk are both lost: new tables begin
 * above the wall clock.  With LH_NO_CLOCK_FLOOR tokens begin again.
 *
 * Otherwise a new disk would let tokens be given twice.
 */
#include "fence.h"

int
main(void)
{
	const char *table = t_table();
	struct lh_open_opts o = fence_opts();
	uint64_t last = 0, token, highest;
	struct lh *lh;

	o.flags = 0;
	for (int i = 0; i < 3; i++) {
		is(lh_open(&lh, table, &o), 0, "opened");
		for (int j = 0; j < 100; j++)
			(void)fence_token(lh, "k", LH_LOCAL, &token);
		fence_larger(lh, "k", &last, "a table");
		is(lh_close(lh), 0, "closed");
		unlink(t_object(table));
		fence_wipe(fence_ranges(table));
		is(fence_count(table, &highest), 0, "all is lost");
		t_sleep_ms(20);
	}
	cmp(last, >, UINT64_C(25000) << 32, "a range for each hour since 2024");
	lh = fence_open(table);
	is(fence_token(lh, "k", LH_LOCAL, &token), 0, "without the clock");
	cmp(token, <, UINT64_C(3) << 32, "tokens begin anew");
	is(lh_close(lh), 0, "closed");
	return done();
}
