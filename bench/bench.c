/* SPDX-License-Identifier: MIT */
/*
 * Measures the cost of a lease beside the locks in use today.
 *
 *	bench			the readable table, about three minutes
 *	bench --quick		the same in about a minute
 *	bench --tsv [--quick]	metric, ours_ns, peer, peer_ns, ratio; no more
 *	bench --check		exits 1 if a ratio misses its target
 *	bench --only GROUP	one of the groups below
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
 *   Uncontended (uncontended.c, million.c, readers.c, tools/bench_rounds.c).
 *   One thread pinned to one CPU; a round is a slice of some milliseconds a
 *   competitor, its loop count set by a calibration that is also the warm-up.
 *   The slice is timed by the thread's CPU clock, so that time given to other
 *   processes on the CPU does not count; a slice in which the thread went to
 *   sleep by itself is timed by the wall clock instead, so that nobody can win
 *   by sleeping.
 *   Every return value is looked at, ours and theirs.
 *
 *   By several processes (contest.c; crowd.c, readers.c, handover.c).  They are
 *   forked anew each round, attach, meet at a barrier in shared memory, and
 *   acquire and release one lock with nothing in between until told to stop.
 *   Wall time.  A contest says whether its processes are pinned, and then those
 *   of the peer are, to the same CPUs.
 *
 *   Takeover (takeover.c, tools/bench_relay.c).  From the kill(SIGKILL) of a
 *   holder to the grant in a process that has been waiting, no daemon anywhere.
 *   The moment of the kill is spread evenly over the waiter's sleep period.
 *
 *   Reaper (reaper.c).  The daemon over a large table that is in use.
 *
 *   Cluster (cluster.c).  Keys of a cluster, beside the etcd below them.
 *
 *   Waiters (idle.c, waiters.c).  Processor time of a thousand of them.
 *
 *   Memory (memory.c).  How much larger a table's object is with twice as many.
 *
 *   Instructions (count/count.c).  The pair is single-stepped in a child.
 *
 * Peers.  robust-mutex: a process-shared PTHREAD_MUTEX_ROBUST in MAP_SHARED
 * memory, the cheapest thing that survives the death of its holder; it has no
 * names, deadlines, tokens, priorities, or list of who holds what.
 * pthr-rwlock: a process-shared pthread_rwlock, the usual thing for readers,
 * which survives nobody's death.  bdb-5.3: the lock subsystem of Berkeley DB,
 * and tdb-mutex: the chain locks of Samba's tdb, the nearest things with names
 * (peers.c says how they are set up).  3-loads and futex are no locks but the
 * least that memory and kernel can do it with (million.c, handover.c).  The
 * others are context.
 *
 * A row that this library, machine or build cannot measure is left out, with a
 * line that gives the reason (--tsv: on stderr).  A group that fails is left
 * out too, the others are still measured, and the exit status is 2.  --check
 * counts a row that is left out as missed.
 *
 * The program is linked with the shared library, as a worker would be.  It uses
 * tables of its own (bench.<pid>, bench.<pid>.*) and a directory on /dev/shm; a
 * process that does nothing else removes all of it, however the measuring ends
 * (process.c).  The files that need no peers are in tools/, because the verb
 * `leasehold bench` of the command uses them too.
 *
 * Speed is no test: nothing in `make check` runs --check.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

struct bench bench;

static bool only_instructions;
static const char *only;	/* the name of a group; NULL: all */

static const char usage[] =
    "usage: bench [--quick] [--tsv] [--check] [--only GROUP]\n"
    "       bench --instructions\n"
    "  --quick         fewer and shorter rounds, a minute in all\n"
    "  --tsv           print metric, ours_ns, peer, peer_ns, ratio; no more\n"
    "  --check         exit 1 if a ratio misses its target\n"
    "  --only GROUP    uncontended, million, crowd, reader, 'two readers',\n"
    "                  handover, takeover, reaper, cluster or memory\n"
    "  --instructions  count the instructions of the hot pair, no times\n";

/* By bench/count/count, which needs the library alone. */
static void print_instructions(void)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 16);
	char *name;
	int status;
	int pid;

	if (len < 0)
		bench_die("/proc/self/exe: %s", strerror(errno));
	path[len] = '\0';
	name = strrchr(path, '/');
	strcpy(name ? name + 1 : path, "count/count");
	pid = bench_fork();
	if (pid == 0) {
		execl(path, path, (char *)NULL);
		bench_die("%s: %s", path, strerror(errno));
	}
	if (waitpid(pid, &status, 0) != pid || !bench_ended_well(status))
		bench_die("the instructions cannot be counted here");
	printf("\n");
}

static const struct group {
	const char *name;
	size_t (*run)(struct row **rows);
	void (*print)(void);	/* instead of run: no rows, not for --tsv */
} groups[] = {
	{ "uncontended", bench_uncontended, NULL },
	{ "million", bench_million, NULL },
	{ "first use", bench_first_use, NULL },
	{ "crowd", bench_crowd, NULL },
	{ "reader", bench_reader, NULL },
	{ "two readers", bench_two_readers, NULL },
	{ "handover", bench_handover, NULL },
	{ "drain", bench_drain, NULL },
	{ "idle", bench_idle, NULL },
	{ "takeover", bench_takeover, NULL },
	{ "reaper", bench_reaper, NULL },
	{ "cluster", bench_cluster, NULL },
	{ "memory", NULL, bench_memory },
	{ "instructions", NULL, print_instructions },
};

static int group_body(const struct group *group)
{
	struct row *rows;
	size_t n;

	if (group->print) {
		group->print();
		return 0;
	}
	n = group->run(&rows);
	bench_report(rows, n);
	return bench_missed(rows, n) ? TARGET_MISSED : 0;
}

/*
 * Measure and print in a child, so that one that fails is left out and the
 * others are measured all the same.
 */
static int run_group(const struct group *group)
{
	int status;
	int pid;

	pid = bench_fork();
	if (pid == 0) {
		status = group_body(group);
		fflush(stdout);
		_exit(status);
	}
	if (waitpid(pid, &status, 0) != pid)
		bench_die("waitpid: %s", strerror(errno));
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE)
		_exit(COULD_NOT_MEASURE);	/* nobody reads this */
	if (WIFEXITED(status) && WEXITSTATUS(status) != COULD_NOT_MEASURE)
		return WEXITSTATUS(status);
	fprintf(stderr, "bench: the group '%s' failed and is left out (wait "
	    "status 0x%x)\n", group->name, (unsigned int)status);
	return COULD_NOT_MEASURE;
}

/* The groups, one after the other, so that somebody watching sees progress. */
static int body(void)
{
	bool missed = false, failed = false;
	int status;
	size_t i;

	if (only_instructions) {
		print_instructions();
		return 0;
	}
	bench_report_begin();
	bench_report_head();
	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if ((bench.tsv && groups[i].print) ||
		    (only && strcmp(only, groups[i].name) != 0))
			continue;
		status = run_group(&groups[i]);
		missed |= status == TARGET_MISSED;
		failed |= status == COULD_NOT_MEASURE;
	}
	bench_report_notes();
	if (failed)
		return COULD_NOT_MEASURE;
	return bench.check && missed ? TARGET_MISSED : 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "quick", no_argument, NULL, 'q' },
		{ "tsv", no_argument, NULL, 't' },
		{ "check", no_argument, NULL, 'c' },
		{ "only", required_argument, NULL, 'o' },
		{ "instructions", no_argument, NULL, 'i' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	int c;

	while ((c = getopt_long(argc, argv, "qtco:ih", options, NULL)) != -1) {
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
		case 'o':
			only = optarg;
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
