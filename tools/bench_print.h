/* SPDX-License-Identifier: MIT */
/* Prints what `leasehold bench` measured.  See bench_print.c. */
#ifndef TOOLS_BENCH_PRINT_H
#define TOOLS_BENCH_PRINT_H

#include <stdbool.h>
#include "bench_measure.h"

/* A run: where, how long, and its figures. */
struct bench_run {
	const char *table;
	bool system, private;
	unsigned int seconds;
	const struct bench_results *results;
};

/* Each returns the exit status. */
int bench_print_table(const struct bench_run *run);
int bench_print_json(const struct bench_run *run);

#endif
