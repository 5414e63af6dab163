/* SPDX-License-Identifier: MIT */
/*
 * How is something timed that several processes do at once?
 *
 * A round: the workers are forked, attach (ours) and report ready; when all are
 * ready the parent notes the time and wakes them; after the wall time it sets
 * stop and notes the time again.  A worker that was waiting then still gets
 * the lock once: at most n successes too many, of some hundred thousand.
 *
 * On a machine with so much else to do that nobody succeeded once, the round is
 * repeated with twice the time.
 *
 * Beside the time two things are noted.  The least-served worker's part of a
 * fair share: a lock can be fast by serving one process only.  And how many
 * CPUs the workers kept busy: on a machine that gives them no more than one,
 * nobody contends in truth, and the figure is that of an uncontended lock.
 */
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "contest.h"

#define READY_PATIENCE_NS UINT64_C(10000000000)
#define PATIENCE_NS UINT64_C(2000000000)
#define END_PATIENCE_MS 30000

struct ground *ground;

void contest_set_up(void)
{
	ground = bench_shared(sizeof(*ground));
}

long contest_futex(_Atomic uint32_t *word, int op, uint32_t value)
{
	return syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

void contest_meet(void)
{
	atomic_fetch_add(&ground->ready, 1);
	while (atomic_load(&ground->go) == 0)
		contest_futex(&ground->go, FUTEX_WAIT, 0);
}

static void wait_ready(const int *pids, unsigned int n, const char *what)
{
	uint64_t end = bench_clock_ns() + READY_PATIENCE_NS;

	while (atomic_load(&ground->ready) < n) {
		if (bench_clock_ns() > end)
			bench_reap(pids, n, 0, what);
		bench_sleep_us(500);
	}
}

/* The result of one side in one round. */
struct outcome {
	double ns;		/* wall time a success */
	double share;		/* the least-served worker's, of total / n */
	double cpus;		/* kept busy, attaching and all */
};

static double children_cpu_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return 1e9 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	    1e3 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void start_worker(const struct contest *contest,
    void (*worker)(unsigned int), unsigned int i)
{
	if (contest->place == PLACE_APART)
		bench_pin_nth(i);
	else if (contest->place == PLACE_TOGETHER)
		bench_pin();
	worker(i);
	_exit(0);
}

static struct outcome contest_round(const struct contest *contest,
    void (*worker)(unsigned int), uint64_t wall_ns)
{
	const unsigned int n = contest->n_workers;
	uint64_t total = 0, least = UINT64_MAX;
	double cpu_ns = children_cpu_ns();
	struct outcome outcome;
	uint64_t begin, end;
	int pids[MAX_WORKERS];
	unsigned int i;

	memset(ground, 0, sizeof(*ground));
	for (i = 0; i < n; i++) {
		pids[i] = bench_fork();
		if (pids[i] == 0)
			start_worker(contest, worker, i);
	}
	wait_ready(pids, n, contest->row.metric);
	begin = bench_clock_ns();
	atomic_store(&ground->go, 1);
	contest_futex(&ground->go, FUTEX_WAKE, INT_MAX);
	bench_sleep_us((unsigned int)(wall_ns / 1000));
	atomic_store(&ground->stop, 1);
	end = bench_clock_ns();
	bench_reap(pids, n, END_PATIENCE_MS, contest->row.metric);
	for (i = 0; i < n; i++) {
		total += ground->done[i].n;
		if (ground->done[i].n < least)
			least = ground->done[i].n;
	}
	if (total == 0 && wall_ns < PATIENCE_NS)
		return contest_round(contest, worker, 2 * wall_ns);
	if (total == 0)
		bench_die("%s: nobody succeeded", contest->row.metric);
	outcome.ns = (double)(end - begin) / (double)total;
	if (contest->each)
		outcome.ns *= n;
	outcome.share = (double)least * n / (double)total;
	outcome.cpus = (children_cpu_ns() - cpu_ns) / (double)(end - begin);
	return outcome;
}

double contest_sample(const struct contest *contest,
    void (*worker)(unsigned int), uint64_t wall_ns)
{
	return contest_round(contest, worker, wall_ns).ns;
}

struct row contest_run(const struct contest *contest, unsigned int rounds,
    uint64_t wall_ns)
{
	static double ns[2][MAX_ROUNDS], share[2][MAX_ROUNDS];
	static double cpus[2][MAX_ROUNDS];
	void (*const worker[2])(unsigned int) = {
		contest->ours, contest->theirs
	};
	struct row row = contest->row;
	unsigned int round, k, side;
	struct outcome outcome;

	for (round = 0; round < rounds; round++) {
		for (k = 0; k < 2; k++) {
			side = (k + round) % 2;
			outcome = contest_round(contest, worker[side],
			    wall_ns);
			ns[side][round] = outcome.ns;
			share[side][round] = outcome.share;
			cpus[side][round] = outcome.cpus;
		}
	}
	row.ours = bench_summarise(ns[0], rounds);
	row.theirs = bench_summarise(ns[1], rounds);
	for (side = 0; side < 2; side++)
		bench_report_note("%s, %s: the least-served process got %.0f %%"
		    " "
		    "of a fair share; %.1f CPUs busy", row.metric,
		    side ? row.peer : "ours",
		    100 * bench_percentile(share[side], rounds, 50),
		    bench_percentile(cpus[side], rounds, 50));
	return row;
}

void contest_run_all(const struct contest *contests, size_t n, struct row *rows,
    uint64_t quick_ns)
{
	unsigned int rounds;
	bool metric;
	size_t i;

	for (i = 0; i < n; i++) {
		metric = contests[i].row.kind == ROW_METRIC;
		if (bench.tsv && !metric) {
			rows[i] = contests[i].row;
			rows[i].missing = "not asked for";
			continue;
		}
		rounds = bench.quick ? (metric ? 15 : 7) : (metric ? 41 : 21);
		rows[i] = contest_run(&contests[i], rounds,
		    !bench.quick ? 300000000 : metric ? quick_ns : 120000000);
	}
}
