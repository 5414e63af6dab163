/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12: slots that were cluster keys' become an ordinary key's.  Its
 * tokens, and the floor that they leave, are within the table's range from the
 * first moment, before anybody is granted the key.
 *
 * Otherwise a sound table would count as damaged.
 */
#include <stdio.h>
#include "support/support.h"
#include "tap.h"

#define KEYS	20
#define GRANTS	6000

int
main(void)
{
	struct lh_open_opts oo = t_open_opts();
	const char *table = t_table();
	struct lh_lease l;
	char name[32];
	struct lh *lh;
	int wrong = 0;

	oo.max_keys = KEYS;
	is(lh_open(&lh, table, &oo), 0, "open");
	for (int i = 0; i < GRANTS; i++) {
		if (t_acquire(lh, "first", 60000, 0, &l) != 0 ||
		    lh_release(lh, &l) != 0)
			bail_out("%s", lh_error_detail());
	}
	is(lh_destroy(lh, "first"), 0, "forgotten");
	for (int i = 0; i < KEYS; i++) {
		snprintf(name, sizeof(name), "cluster:%d", i);
		if (lh_key_create(lh, name) != 0)
			bail_out("%s", lh_error_detail());
	}
	for (int i = 0; i < KEYS; i++) {
		snprintf(name, sizeof(name), "cluster:%d", i);
		if (lh_destroy(lh, name) != 0)
			bail_out("%s", lh_error_detail());
	}
	for (int i = 0; i < KEYS; i++) {
		if (lh_key_create(lh, "first") != 0)
			bail_out("%s", lh_error_detail());
		wrong += t_findings(lh);
		if (lh_destroy(lh, "first") != 0)
			bail_out("%s", lh_error_detail());
		wrong += t_findings(lh);
	}
	is(wrong, 0, "nothing is wrong");
	t_close(lh);
	return done();
}
