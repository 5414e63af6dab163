/* SPDX-License-Identifier: MIT */
/* test: check-all: each operation beside each missing array, 15 CPU s */
/*
 * Guarantee G12, issue 21 A2: a table is truncated, punched or overwritten with
 * zeros under a process that catches SIGBUS. Each operation ends with -EUCLEAN;
 * nothing is granted, no process is ended, and closing frees everything.  Each
 * operation, in each way.  (A part of it: zeros-end-every-operation.c, in make
 * check.)
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
	for (int way = 0; way < CUT + n; way++) {
		for (size_t i = 0; i < OPERATIONS; i++)
			ok(zeros_try(table, i, way), "in way %d: %s", way,
			    operations[i].name);
	}
	return done();
}
