/* SPDX-License-Identifier: MIT */
/*
 * G2 in scope local: the object goes while a table is in use (a tmp cleaner, a
 * reboot).  Whoever opens the name makes a new one above it; the old one's
 * users may go on within what they had, with tokens that are smaller.
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
