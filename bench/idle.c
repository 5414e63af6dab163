/* SPDX-License-Identifier: MIT */
/*
 * Measures what a thousand processes cost that wait for one key, which is held
 * all the time: the processor time that all of them take in a second.
 *
 * The peer is a thousand processes that wait for a robust mutex.  They sleep in
 * the kernel and take nothing, so 1 % of a CPU is added to theirs.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <leasehold.h>

#include "bench.h"

#define WAITERS		1000
#define ALLOWED_NS	1e7		/* 1 % of a second */
#define PATIENCE_NS	UINT64_C(20000000000)
#define SETTLE_US	300000		/* all have begun to sleep by then */

static pthread_mutex_t *mutex;
static _Atomic unsigned int *begun;
static char table[sizeof(bench.table) + 8];

static struct lh *attach(void)
{
	struct lh_open_opts opts = LH_OPEN_OPTS_INIT;
	struct lh *lh;

	opts.max_sessions = WAITERS + 8;
	bench_need(lh_open(&lh, table, &opts), "lh_open");
	return lh;
}

static void wait_ours(void)
{
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	struct lh *lh = attach();
	struct lh_lease lease;

	opts.max_wait_ms = 600000;
	++*begun;
	bench_need(lh_acquire(lh, HOT_KEY, &opts, &lease), "acquire");
}

static void wait_mutex(void)
{
	++*begun;
	bench_need(pthread_mutex_lock(mutex), "mutex_lock");
}

static double spent_ns(const int *pids)
{
	struct timespec used;
	double sum = 0;
	clockid_t clock;

	for (unsigned int i = 0; i < WAITERS; i++) {
		bench_need(clock_getcpuclockid(pids[i], &clock), "cpuclock");
		if (clock_gettime(clock, &used) != 0)
			bench_die("idle_1000: a waiter is gone: %s",
			    strerror(errno));
		sum += 1e9 * (double)used.tv_sec + (double)used.tv_nsec;
	}
	return sum;
}

/* Returns what all waiters take in a second. */
static double measure(void (*wait)(void))
{
	static int pids[WAITERS];
	uint64_t end = bench_clock_ns() + PATIENCE_NS, from;
	double spent;

	*begun = 0;
	for (unsigned int i = 0; i < WAITERS; i++) {
		pids[i] = bench_fork();
		if (pids[i] == 0) {
			wait();
			_exit(0);
		}
	}
	while (*begun < WAITERS) {
		if (bench_clock_ns() > end)
			bench_die("idle_1000: %u of %u processes wait", *begun,
			    WAITERS);
		bench_sleep_us(1000);
	}
	bench_sleep_us(SETTLE_US);
	from = bench_clock_ns();
	spent = spent_ns(pids);
	bench_sleep_us(bench.quick ? 1000000 : 5000000);
	spent = (spent_ns(pids) - spent) * 1e9 /
	    (double)(bench_clock_ns() - from);
	bench_kill(pids, WAITERS);
	return spent;
}

size_t bench_idle(struct row **out)
{
	static struct row row = {
		"idle_1000", "mutex + 1 %",
		"1,000 processes wait: their processor time in a second",
		ROW_METRIC, 1, { 0, 0 }, { 0, 0 }, NULL
	};
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;
	struct lh *lh;

	(void)snprintf(table, sizeof(table), "%s.idle", bench.table);
	begun = bench_shared(sizeof(*begun));
	mutex = bench_robust_mutex();
	lh = attach();
	opts.ttl_ms = 600000;
	bench_need(lh_acquire(lh, HOT_KEY, &opts, &lease), "acquire");
	bench_need(pthread_mutex_lock(mutex), "mutex_lock");
	row.ours.mid_ns = row.ours.min_ns = measure(wait_ours);
	row.theirs.mid_ns = measure(wait_mutex) + ALLOWED_NS;
	row.theirs.min_ns = row.theirs.mid_ns;
	bench_need(pthread_mutex_unlock(mutex), "mutex_unlock");
	bench_need(lh_release(lh, &lease), "release");
	bench_need(lh_close(lh), "lh_close");
	*out = &row;
	return 1;
}
