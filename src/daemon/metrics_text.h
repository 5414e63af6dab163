/* SPDX-License-Identifier: MIT */
/* What lh_stats() tells, for who collects such numbers.  See metrics_text.c. */
#ifndef DAEMON_METRICS_TEXT_H
#define DAEMON_METRICS_TEXT_H

#include <stdio.h>
#include <leasehold.h>

/*
 * The numbers of several tables, or of one, as Prometheus reads them.  Errors
 * of `out` are left for its ferror().
 */
struct metrics_table {
	const char *name;	/* the table's: goes into a label */
	struct lh_stats stats;
};

void metrics_print(FILE *out, const struct metrics_table *tables, size_t n);

#endif
