/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G3: a live handle adopts a lease through a copy that does not know
 * of a later, shorter ttl, which another copy has set.  lh_lock_valid(), which
 * goes by the clock alone, says "lost" from the true end on, when another
 * process holds the key.
 *
 * Otherwise a handle would say "valid" while another process holds the key.
 */
#include <errno.h>
#include "support/support.h"
#include "tap.h"

#define ROUNDS 10

int
main(void)
{
	struct lh_lock_opts lo = LH_LOCK_OPTS_INIT;
	const char *table = t_table();
	struct lh *lh = t_open(table), *two = t_open(table);
	struct lh_lease a, b, other;
	struct lh_lock *l;
	int late = 0, both = 0, tries = 0;

	lo.renew_ms = 0;
	for (int i = 0; i < ROUNDS; i++) {
		if (t_acquire(lh, "k", 60000, 0, &a) != 0)
			bail_out("%s", lh_error_detail());
		b = a;
		if (lh_extend(lh, &b, t_ms(100)) != 0)
			bail_out("%s", lh_error_detail());
		if (lh_lock_adopt(lh, &a, 60000, &lo, &l) != 0) {
			/* kept from running until it was over: once more */
			if (t_now_ns() < b.expires_ns || tries++ > 3 * ROUNDS)
				bail_out("%s", lh_error_detail());
			i--;
			continue;
		}
		t_sleep_until(b.expires_ns);
		late += lh_lock_valid(l) == 0;
		if (t_acquire(two, "k", 60000, 5000, &other) != 0)
			bail_out("%s", lh_error_detail());
		both += lh_lock_valid(l) == 0;
		(void)lh_lock_close(l);
		if (lh_release(two, &other) != 0)
			bail_out("%s", lh_error_detail());
	}
	is(late, 0, "no handle is valid after its lease's end");
	is(both, 0, "nor while another holds the key");
	t_close(two);
	t_close(lh);
	return done();
}
