/* SPDX-License-Identifier: MIT */
/*
 * Times one operation of several competitors, in interleaved rounds.
 *
 * bench_circus() gives every competitor one slice a round, in an order that
 * moves on by one each round, and leaves one value a round and competitor.
 *
 * A slice is timed by the thread's CPU clock: on a shared machine the wall
 * clock mostly measures who else was on the CPU, in portions of a scheduler
 * tick, which is as long as a slice.  None of the competitors has a reason to
 * sleep when nobody contends; if one does (ru_nvcsw moved), its slice counts
 * by the wall clock.  The clock is read twice a slice, i.e. once in about a
 * hundred thousand operations, and is not subtracted.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "bench_clock.h"
#include "bench_process.h"
#include "bench_rounds.h"

static cpu_set_t allowed;

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Nearest rank.  Sorts the values. */
double bench_percentile(double *values, size_t n, unsigned int percent)
{
	size_t rank = (n * percent + 99) / 100;

	qsort(values, n, sizeof(*values), compare);
	return values[rank > 0 ? rank - 1 : 0];
}

/* Median and minimum.  Sorts the values. */
struct figures bench_summarise(double *values, size_t n)
{
	struct figures figures;

	figures.mid_ns = bench_percentile(values, n, 50);
	figures.min_ns = values[0];
	return figures;
}

static void pin(unsigned int from_last)
{
	cpu_set_t one;
	int cpu = CPU_SETSIZE;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		bench_die("sched_getaffinity: %s", strerror(errno));
	from_last %= (unsigned int)CPU_COUNT(&allowed);
	do {
		while (!CPU_ISSET(--cpu, &allowed))
			;
	} while (from_last-- > 0);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		bench_die("sched_setaffinity: %s", strerror(errno));
}

/* To the last CPU we may use: the first one tends to serve the interrupts. */
void bench_pin(void)
{
	pin(0);
}

/* Each of several processes, with numbers from 0, to a CPU of its own. */
void bench_pin_nth(unsigned int i)
{
	pin(i);
}

void bench_unpin(void)
{
	if (sched_setaffinity(0, sizeof(allowed), &allowed) < 0)
		bench_die("sched_setaffinity: %s", strerror(errno));
}

static uint64_t slice(const struct side *side, uint64_t n)
{
	uint64_t cpu_ns, wall_ns;
	struct rusage before, after;

	getrusage(RUSAGE_THREAD, &before);
	wall_ns = bench_clock_of(CLOCK_MONOTONIC);
	cpu_ns = bench_clock_of(CLOCK_THREAD_CPUTIME_ID);
	side->run(n);
	cpu_ns = bench_clock_of(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	wall_ns = bench_clock_of(CLOCK_MONOTONIC) - wall_ns;
	getrusage(RUSAGE_THREAD, &after);
	return after.ru_nvcsw != before.ru_nvcsw ? wall_ns : cpu_ns;
}

/* How many operations fill a slice; warms everything up on the way. */
static uint64_t calibrate(const struct side *side, uint64_t slice_ns)
{
	uint64_t n = 16;
	uint64_t ns;

	for (;;) {
		ns = slice(side, n);
		if (ns >= slice_ns / 2)
			break;
		n *= 2;
	}
	n = n * slice_ns / ns;
	return n > 0 ? n : 1;
}

/*
 * Puts one value a round into side->ns, and their summary into side->figures.
 * Ends after `rounds`, or earlier at end_ns (of bench_clock_ns()), but not
 * before `least` rounds.  Returns their number.
 */
unsigned int bench_circus_until(struct side *sides, size_t n_sides,
    unsigned int rounds, unsigned int least, uint64_t slice_ns, uint64_t end_ns)
{
	struct side *side;
	unsigned int round;
	size_t i;

	for (i = 0; i < n_sides; i++)
		if (!sides[i].missing)
			sides[i].n = calibrate(&sides[i], slice_ns);
	for (round = 0; round < rounds && (round < least ||
	    bench_clock_ns() < end_ns); round++) {
		for (i = 0; i < n_sides; i++) {
			side = &sides[(i + round) % n_sides];
			if (side->missing)
				continue;
			side->ns[round] = (double)slice(side, side->n) /
			    (double)side->n;
		}
	}
	for (i = 0; i < n_sides; i++)
		if (!sides[i].missing)
			sides[i].figures = bench_summarise(sides[i].ns, round);
	return round;
}

void bench_circus(struct side *sides, size_t n_sides, unsigned int rounds,
    uint64_t slice_ns)
{
	(void)bench_circus_until(sides, n_sides, rounds, rounds, slice_ns, 0);
}
