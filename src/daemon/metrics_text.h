/* SPDX-License-Identifier: MIT */
/* Statistics of lh_stats() for monitoring systems: see metrics_text.c. */
#ifndef DAEMON_METRICS_TEXT_H
#define DAEMON_METRICS_TEXT_H

#include <stdio.h>
#include <leasehold.h>

/* A table and its statistics. */
struct metrics_table {
	const char *name;	/* the table's name, for a label */
	struct lh_stats stats;
};

/* Prints the statistics of n tables.  Errors of `out` are left to its
 * ferror(). */
void metrics_print(FILE *out, const struct metrics_table *tables, size_t n);

#endif
