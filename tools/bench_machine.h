/* SPDX-License-Identifier: MIT */
/* The machine that a benchmark runs on.  See bench_machine.c. */
#ifndef TOOLS_BENCH_MACHINE_H
#define TOOLS_BENCH_MACHINE_H

struct bench_machine {
	char model[128];		/* of its processors */
	char kernel[140];		/* name and release */
	unsigned int cpus;
	double load;			/* of the last minute */
};

void bench_machine_read(struct bench_machine *machine);

#endif
