/* SPDX-License-Identifier: MIT */
/*
 * What does a lock cost that everybody wants at once?
 *
 * A contest is n processes on one lock for a fixed wall time, ours and the
 * robust mutex in turn, round after round.
 *
 *   contended_8, contended_2
 *	acquire, release, nothing in between and nothing around: the hardest
 *	thing for a lock.  Time an acquisition = wall time / acquisitions.
 *   ping_pong
 *	two processes that must alternate: each may move only when the other
 *	has moved, and looks under the lock.  Time a move.
 *
 * Layout of the shared memory: what the parent writes while the contest runs
 * (stop) is read by every worker before each acquisition and lies on a line
 * that nobody writes; each worker's result has its own line.
 *
 * A round: the workers are forked, attach (ours) and report ready; when all are
 * ready the parent notes the time and wakes them; after the wall time it sets
 * stop and notes the time again.  A worker that was waiting then still gets
 * the lock once: at most n acquisitions too many, of some hundred thousand.
 *
 * Beside the time two things are noted.  The least-served worker's part of a
 * fair share: a lock can be fast by serving one process only.  And how many
 * CPUs the workers kept busy: on a machine that gives them no more than one,
 * nobody contends in truth, and the figure is that of an uncontended lock.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <leasehold.h>

#include "bench.h"

#define MAX_WORKERS 8
#define READY_PATIENCE_NS UINT64_C(10000000000)

struct crowd {
	alignas(64) _Atomic uint32_t ready;
	_Atomic uint32_t go;			/* futex */
	alignas(64) _Atomic uint32_t stop;
	alignas(64) _Atomic uint32_t turn;	/* ping_pong, under the lock */
	struct {
		alignas(64) uint64_t n;
	} done[MAX_WORKERS];
};

static struct crowd *crowd;
static pthread_mutex_t *mutex;

static bool stopped(void)
{
	return atomic_load_explicit(&crowd->stop, memory_order_relaxed);
}

static void meet(void)
{
	atomic_fetch_add(&crowd->ready, 1);
	while (atomic_load(&crowd->go) == 0)
		syscall(SYS_futex, &crowd->go, FUTEX_WAIT, 0, NULL, NULL, 0);
}

/* 1 if it was my turn and I moved. */
static unsigned int move(unsigned int me)
{
	if (atomic_load_explicit(&crowd->turn, memory_order_relaxed) != me)
		return 0;
	atomic_store_explicit(&crowd->turn, !me, memory_order_relaxed);
	return 1;
}

static void crowd_mutex(unsigned int me)
{
	uint64_t n = 0;

	meet();
	while (!stopped()) {
		bench_need(pthread_mutex_lock(mutex), "mutex_lock");
		bench_need(pthread_mutex_unlock(mutex), "mutex_unlock");
		n++;
	}
	crowd->done[me].n = n;
}

static void ping_pong_mutex(unsigned int me)
{
	uint64_t n = 0;

	meet();
	while (!stopped()) {
		bench_need(pthread_mutex_lock(mutex), "mutex_lock");
		n += move(me);
		bench_need(pthread_mutex_unlock(mutex), "mutex_unlock");
	}
	crowd->done[me].n = n;
}

static void attach(struct lh **lh, struct lh_key **key)
{
	bench_need(lh_open(lh, bench.table, NULL), "lh_open");
	bench_need(lh_key_open(*lh, "bench/crowd", 0, key), "key_open");
}

static void detach(struct lh *lh, struct lh_key *key)
{
	bench_need(lh_key_close(key), "key_close");
	bench_need(lh_close(lh), "lh_close");
}

static void crowd_ours(unsigned int me)
{
	struct lh_lease lease;
	struct lh_key *key;
	uint64_t n = 0;
	struct lh *lh;

	attach(&lh, &key);
	meet();
	while (!stopped()) {
		bench_need(lh_key_acquire(key, NULL, &lease), "acquire");
		bench_need(lh_release(lh, &lease), "release");
		n++;
	}
	crowd->done[me].n = n;
	detach(lh, key);
}

static void ping_pong_ours(unsigned int me)
{
	struct lh_lease lease;
	struct lh_key *key;
	uint64_t n = 0;
	struct lh *lh;

	attach(&lh, &key);
	meet();
	while (!stopped()) {
		bench_need(lh_key_acquire(key, NULL, &lease), "acquire");
		n += move(me);
		bench_need(lh_release(lh, &lease), "release");
	}
	crowd->done[me].n = n;
	detach(lh, key);
}

struct contest {
	unsigned int n_workers;
	void (*ours)(unsigned int me);
	void (*theirs)(unsigned int me);
	struct row row;
};

static const struct contest contests[] = {
	{ 8, crowd_ours, crowd_mutex, { "contended_8", "robust-mutex",
	    "8 processes, one key, empty section: time an acquisition",
	    ROW_METRIC, 1.12, { 0, 0 }, { 0, 0 }, NULL } },
	{ 2, crowd_ours, crowd_mutex, { "contended_2", "robust-mutex",
	    "2 processes, the same", ROW_CONTEXT, 0,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ 2, ping_pong_ours, ping_pong_mutex, { "ping_pong", "robust-mutex",
	    "2 processes that must alternate: time a move", ROW_CONTEXT, 0,
	    { 0, 0 }, { 0, 0 }, NULL } },
};

#define N_ROWS (sizeof(contests) / sizeof(contests[0]))

static void wait_ready(const int *pids, unsigned int n, const char *what)
{
	uint64_t end = bench_clock_ns() + READY_PATIENCE_NS;

	while (atomic_load(&crowd->ready) < n) {
		if (bench_clock_ns() > end)
			bench_reap(pids, n, 0, what);
		bench_sleep_us(500);
	}
}

/* What one side achieved in one round. */
struct outcome {
	double ns;		/* wall time an acquisition */
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

	memset(crowd, 0, sizeof(*crowd));
	for (i = 0; i < n; i++) {
		pids[i] = bench_fork();
		if (pids[i] == 0) {
			worker(i);
			_exit(0);
		}
	}
	wait_ready(pids, n, contest->row.metric);
	begin = bench_clock_ns();
	atomic_store(&crowd->go, 1);
	syscall(SYS_futex, &crowd->go, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	bench_sleep_us((unsigned int)(wall_ns / 1000));
	atomic_store(&crowd->stop, 1);
	end = bench_clock_ns();
	bench_reap(pids, n, 10000, contest->row.metric);
	for (i = 0; i < n; i++) {
		total += crowd->done[i].n;
		if (crowd->done[i].n < least)
			least = crowd->done[i].n;
	}
	if (total == 0)
		bench_die("%s: nobody got the lock", contest->row.metric);
	outcome.ns = (double)(end - begin) / (double)total;
	outcome.share = (double)least * n / (double)total;
	outcome.cpus = (children_cpu_ns() - cpu_ns) / (double)(end - begin);
	return outcome;
}

static struct row contest_run(const struct contest *contest,
    unsigned int rounds, uint64_t wall_ns)
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

size_t bench_crowd(struct row **out)
{
	static struct row rows[N_ROWS];
	unsigned int rounds;
	uint64_t wall_ns;
	bool metric;
	size_t i;

	crowd = bench_shared(sizeof(*crowd));
	mutex = bench_robust_mutex();
	for (i = 0; i < N_ROWS; i++) {
		metric = contests[i].row.kind == ROW_METRIC;
		if (bench.tsv && !metric) {
			rows[i] = contests[i].row;
			rows[i].missing = "not asked for";
			continue;
		}
		rounds = bench.quick ? (metric ? 15 : 7) :
		    (metric ? 41 : 21);
		wall_ns = bench.quick ? 250000000 : 300000000;
		rows[i] = contest_run(&contests[i], rounds, wall_ns);
	}
	*out = rows;
	return N_ROWS;
}
