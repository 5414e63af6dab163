/* SPDX-License-Identifier: MIT */
/*
 * What does a lease cost, next to what people use today?
 *
 *	bench			the readable table, about two minutes
 *	bench --quick		the same in well under 50 s
 *	bench --tsv [--quick]	metric, ours_ns, peer, peer_ns, ratio; no more
 *	bench --check		exits 1 if a ratio misses its target
 *	bench --instructions	instructions of the hot pair, counted exactly
 *
 * Method
 *
 *   Ratios, not times.  Machines are shared and noisy; what holds from one to
 *   the next is ours / peer, measured in the same minute on the same CPU.  So
 *   competitors run in interleaved rounds: every one of them once a round, the
 *   one to begin moving on by one from round to round, so that a frequency
 *   change or a neighbour hits all alike.  A figure is the median over all
 *   rounds; the minimum stands beside it, because it is what the machine can
 *   do when left alone.  ratio = median of ours / median of peer.
 *
 *   Uncontended (uncontended.c, rounds.c).  One thread pinned to one CPU; a
 *   round is a slice of some milliseconds a competitor, its loop count set by a
 *   calibration that is also the warm-up.  The slice is timed by the thread's
 *   CPU clock, so that time given to other processes on the CPU does not
 *   count; a slice in which the thread went to sleep by itself is timed by the
 *   wall clock instead, so that nobody can win by sleeping.
 *   Every return value is looked at, ours and theirs.
 *
 *   Contended (crowd.c).  The processes are forked anew each round, attach,
 *   meet at a barrier in shared memory, and acquire and release one lock with
 *   nothing in between until told to stop.  Time an acquisition = wall time /
 *   acquisitions of all.  Nothing is pinned.
 *
 *   Takeover (takeover.c).  From the kill(SIGKILL) of a holder to the grant in
 *   a process that has been waiting, no daemon anywhere.  The moment of the
 *   kill is spread evenly over the waiter's sleep period.
 *
 *   Instructions (instructions.c).  The pair is single-stepped in a child.
 *
 * Peers.  robust-mutex: a process-shared PTHREAD_MUTEX_ROBUST in MAP_SHARED
 * memory, the cheapest thing that survives the death of its holder; it has no
 * names, deadlines, tokens, priorities, or list of who holds what.  bdb-5.3:
 * the lock subsystem of Berkeley DB, the nearest thing with names (peers.c says
 * how it is set up).  The others are context.
 *
 * The program is linked with the shared library, as a worker would be.  It
 * uses a table of its own (bench.<pid>) and a directory on /dev/shm; a parent
 * process that does nothing else removes both, however the measuring ends.
 *
 * Speed is no test: nothing in `make check` runs --check.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"

struct bench bench;

static bool only_instructions;

static const char usage[] =
    "usage: bench [--quick] [--tsv] [--check]\n"
    "       bench --instructions\n"
    "  --quick         fewer and shorter rounds, under 50 s in all\n"
    "  --tsv           print metric, ours_ns, peer, peer_ns, ratio; no more\n"
    "  --check         exit 1 if a ratio misses its target\n"
    "  --instructions  count the instructions of the hot pair, no times\n";

/*
 * The groups, in the order they are printed.  A group's rows are printed when
 * it is done, so that somebody watching sees progress.
 */
static int body(void)
{
	static size_t (*const groups[])(struct row **) = {
		bench_uncontended, bench_crowd, bench_takeover
	};
	bool missed = false;
	struct row *rows;
	size_t i, n;

	if (only_instructions) {
		bench_instructions();
		bench_report_notes();
		return 0;
	}
	bench_report_head();
	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		n = groups[i](&rows);
		bench_report(rows, n);
		missed |= bench_missed(rows, n);
	}
	if (!bench.tsv) {
		bench_instructions();
		bench_report_notes();
	}
	return bench.check && missed ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "quick", no_argument, NULL, 'q' },
		{ "tsv", no_argument, NULL, 't' },
		{ "check", no_argument, NULL, 'c' },
		{ "instructions", no_argument, NULL, 'i' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	int c;

	while ((c = getopt_long(argc, argv, "qtcih", options, NULL)) != -1) {
		switch (c) {
		case 'q':
			bench.quick = true;
			break;
		case 't':
			bench.tsv = true;
			break;
		case 'c':
			bench.check = true;
			break;
		case 'i':
			only_instructions = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs(usage, stderr);
			return 64;
		}
	}
	if (optind != argc || (only_instructions && bench.tsv)) {
		fputs(usage, stderr);
		return 64;
	}
	return bench_supervise(body);
}
