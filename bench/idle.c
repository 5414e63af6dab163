/* SPDX-License-Identifier: MIT */
/*
 * Measures what a thousand processes cost that wait for one key, which is held
 * all the time: the processor time that all of them take in a second.
 *
 * The peer is a thousand processes that wait for a robust mutex.  They sleep in
 * the kernel and take nothing, so 1 % of a CPU is added to theirs.
 */
#include <stdio.h>

#include <leasehold.h>

#include "bench.h"
#include "waiters.h"

#define WAITERS		1000
#define ALLOWED_NS	1e7		/* 1 % of a second */

static pthread_mutex_t *mutex;
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
	waiters_begin();
	bench_need(lh_acquire(lh, HOT_KEY, &opts, &lease), "acquire");
}

static void wait_mutex(void)
{
	waiters_begin();
	bench_need(pthread_mutex_lock(mutex), "mutex_lock");
}

size_t bench_idle(struct row **out)
{
	static struct row row = {
		"idle_1000", "mutex + 1 %",
		"1,000 processes wait: their processor time in a second",
		ROW_METRIC, 1, { 0, 0 }, { 0, 0 }, NULL
	};
	unsigned int span_us = bench.quick ? 1000000 : 5000000;
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;
	struct lh *lh;

	(void)snprintf(table, sizeof(table), "%s.idle", bench.table);
	mutex = bench_robust_mutex();
	lh = attach();
	opts.ttl_ms = 600000;
	bench_need(lh_acquire(lh, HOT_KEY, &opts, &lease), "acquire");
	bench_need(pthread_mutex_lock(mutex), "mutex_lock");
	row.ours.mid_ns = waiters_spend(WAITERS, wait_ours, span_us);
	row.ours.min_ns = row.ours.mid_ns;
	row.theirs.mid_ns = waiters_spend(WAITERS, wait_mutex, span_us) +
	    ALLOWED_NS;
	row.theirs.min_ns = row.theirs.mid_ns;
	bench_need(pthread_mutex_unlock(mutex), "mutex_unlock");
	bench_need(lh_release(lh, &lease), "release");
	bench_need(lh_close(lh), "lh_close");
	*out = &row;
	return 1;
}
