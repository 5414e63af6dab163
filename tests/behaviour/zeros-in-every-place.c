/* SPDX-License-Identifier: MIT */
/* test: check-all: each operation beside each missing array, 15 CPU s */
/*
 * G12: a table that is truncated, punched or overwritten with zeros under a
 * process that catches SIGBUS ends every operation with -EUCLEAN; nothing is
 * granted, no process is ended, and closing gives everything back.  Each
 * operation, in each way.
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
	for (int way = 0; way < CUT + n; way++) {
		for (size_t i = 0; i < OPERATIONS; i++)
			ok(zeros_try(table, i, way), "in way %d: %s", way,
			    operations[i].name);
	}
	return done();
}
