/* SPDX-License-Identifier: MIT */
/*
 * Times competitors in interleaved rounds, and summarises.  See bench_rounds.c.
 *
 * The files tools/bench_*.h serve `leasehold bench` and the benchmark of the
 * developers in bench/.
 */
#ifndef TOOLS_BENCH_ROUNDS_H
#define TOOLS_BENCH_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_ROUNDS	512

/* A side's figures over all rounds, in ns an operation. */
struct figures {
	double mid_ns;		/* median, or the percentile the row names */
	double min_ns;
};

/*
 * One competitor of a circus: set_up() returns NULL or why it cannot take part;
 * run() does n operations.
 */
struct side {
	const char *name;
	const char *(*set_up)(void);
	void (*run)(uint64_t n);
	void (*tear_down)(void);
	bool wanted;
	const char *missing;
	uint64_t n;		/* operations in a slice, by calibration */
	double ns[MAX_ROUNDS];
	struct figures figures;
};

double bench_percentile(double *values, size_t n, unsigned int percent);
struct figures bench_summarise(double *values, size_t n);
void bench_pin(void);
void bench_pin_nth(unsigned int i);
void bench_unpin(void);
unsigned int bench_circus_until(struct side *sides, size_t n_sides,
    unsigned int rounds, unsigned int least, uint64_t slice_ns,
    uint64_t end_ns);
void bench_circus(struct side *sides, size_t n_sides, unsigned int rounds,
    uint64_t slice_ns);

#endif
