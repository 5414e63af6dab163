/* SPDX-License-Identifier: MIT */
/*
 * Measures how costs grow: the points of the pictures in doc/img.
 *
 *	curves [--quick] [CURVE...]
 *
 * It prints a head of lines that begin with #, and then curve, lock, x and y,
 * separated by tabs.  bench/curves/draw makes pictures of that.
 *
 *	keys		ns a pair at random among so many keys, one process
 *	one-key		ns a pair, so many processes on one key
 *	own-keys	ns a pair of all, so many processes with a key each
 *	read-share	ns a pair of all, such a percentage of readers
 *	handover	us from release to grant, of so many percent of samples
 *	takeover	us from kill -9 to grant, holder with so many MiB
 *	waiters		ms of processor time a second that so many waiters take
 *
 * As in bench.c the locks are measured in turn, round by round, and a point is
 * the median.  Where there are several processes, or one sleeps, times are
 * those of the wall clock, so the machine has to be quiet.  A curve that fails
 * is left out, and the exit status is 2.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "curves.h"
#include "tools/bench_machine.h"

struct bench bench;

static char **wanted;		/* names; an empty list: all */

static const struct curve {
	const char *name;
	void (*measure)(void);
} curves[] = {
	{ "keys", curve_keys },
	{ "one-key", curve_one_key },
	{ "own-keys", curve_own_keys },
	{ "read-share", curve_read_share },
	{ "handover", curve_handover },
	{ "takeover", curve_takeover },
	{ "waiters", curve_waiters },
};

#define N_CURVES (sizeof(curves) / sizeof(curves[0]))

void curve_point(const char *curve, const char *lock, double x, double y)
{
	printf("%s\t%s\t%g\t%.6g\n", curve, lock, x, y);
	fflush(stdout);
}

void curve_missing(const char *curve, const char *lock, const char *why)
{
	fprintf(stderr, "curves: %s: without %s: %s\n", curve, lock, why);
}

static bool is_wanted(const char *name)
{
	char **w = wanted;

	while (*w && strcmp(*w, name) != 0)
		w++;
	return !*wanted || *w;
}

/* In a process of its own, so that one that fails is left out. */
static bool run_curve(const struct curve *curve)
{
	int pid = bench_fork();
	int status;

	if (pid == 0) {
		curve->measure();
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		bench_die("waitpid: %s", strerror(errno));
	if (bench_ended_well(status))
		return true;
	fprintf(stderr, "curves: %s failed and is left out (wait status "
	    "0x%x)\n", curve->name, (unsigned int)status);
	return false;
}

static int body(void)
{
	struct bench_machine machine;
	bool failed = false;

	bench_machine_read(&machine);
	printf("# machine\t%u x %s, %s\n# load\t%.1f\n", machine.cpus,
	    machine.model, machine.kernel, machine.load);
	for (size_t i = 0; i < N_CURVES; i++)
		if (is_wanted(curves[i].name))
			failed |= !run_curve(&curves[i]);
	return failed ? COULD_NOT_MEASURE : 0;
}

int main(int argc, char **argv)
{
	static const char usage[] = "usage: curves [--quick] [CURVE...]\n";
	static const struct option options[] = {
		{ "quick", no_argument, NULL, 'q' },
		{ NULL, 0, NULL, 0 }
	};
	int c;

	while ((c = getopt_long(argc, argv, "q", options, NULL)) != -1) {
		if (c != 'q') {
			fputs(usage, stderr);
			return 64;
		}
		bench.quick = true;
	}
	wanted = argv + optind;
	for (char **w = wanted; *w; w++) {
		size_t i = 0;

		while (i < N_CURVES && strcmp(*w, curves[i].name) != 0)
			i++;
		if (i == N_CURVES) {
			fprintf(stderr, "curves: there is no curve '%s'\n%s",
			    *w, usage);
			return 64;
		}
	}
	return bench_supervise(body);
}
