/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2 in scope local: the object disappears while a table is in use (a
 * cleaner of temporary files, a reboot). The next process that opens the name
 * makes a new table with larger tokens; the old table's users may go on within
 * what they had, with smaller ones.
 *
 * Otherwise a reboot would let tokens be given twice.
 */
#include "fence.h"

static void
lose(const char *table)
{
	if (unlink(t_object(table)) != 0)
		bail_out("unlink: %s", strerror(errno));
}

int
main(void)
{
	const char *table = t_table();
	struct lh *users[8];
	uint64_t last = 0, late;

	for (int i = 0; i < 8; i++) {
		users[i] = fence_open(table);
		fence_larger(users[i], "k", &last, "a new table");
		lose(table);
	}
	for (int i = 0; i < 7; i++) {
		late = 0;
		if (fence_token(users[i], "k", LH_LOCAL, &late) == 0)
			cmp(late, <, last, "an old one's token is smaller");
		else
			pass("an old one gives none");
		is(lh_close(users[i]), 0, "closed");
	}
	is(lh_close(users[7]), 0, "closed");
	return done();
}
