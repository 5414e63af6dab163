/* SPDX-License-Identifier: MIT */
/* test: slow 20 */
/*
 * Guarantee G12, issue 21 A2: a table is truncated, punched or overwritten with
 * zeros under a process that catches SIGBUS. Each operation ends with -EUCLEAN;
 * nothing is granted, no process is ended, and closing frees everything.  Each
 * operation with the whole table gone, and in one other way in turn.  (All
 * ways: zeros-in-every-place.c, in make check-all.)
 *
 * Otherwise one member could end every process that uses the table.
 */
#include "behaviour/zeros.h"

int
main(void)
{
	const char *table = t_table();
	uint64_t cuts[16];
	int n;

	t_close(t_open(table));
	n = zeros_cuts(table, cuts);
	is(lh_table_remove(table, 0), 0, "%d arrays", n);
	for (size_t i = 0; i < OPERATIONS; i++) {
		int other = PUNCHED + (int)i % (CUT + n - PUNCHED);

		ok(zeros_try(table, i, TRUNCATED), "truncated: %s",
		    operations[i].name);
		ok(zeros_try(table, i, other), "in way %d: %s", other,
		    operations[i].name);
	}
	return done();
}
