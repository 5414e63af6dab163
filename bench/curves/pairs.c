/* SPDX-License-Identifier: MIT */
/*
 * The curves of acquire + release.
 *
 * One process: it takes keys at random, so that from some number on none is in
 * a cache.  Several: contest.c runs them for a fixed time.  The time divided by
 * the pairs of all is what a pair takes of the machine.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "contest.h"
#include "curves.h"

#define LOCKS_MAX	8
#define ROUNDS		7
#define ROUNDS_QUICK	3

static const struct lock *lock;		/* of the round, in its workers */
static unsigned int read_percent;
static bool own_keys;

/* xorshift64 */
static uint32_t random_below(uint32_t n)
{
	static uint64_t state = 88172645463325252;

	if (n == 0)
		return 0;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 32) * n >> 32);
}

static unsigned int n_rounds(void)
{
	return bench.quick ? ROUNDS_QUICK : ROUNDS;
}

static long n_sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* Returns ns a pair over about span_ns: of processor time, or of the wall clock
 * if the thread slept. */
static double time_pairs(const struct lock *of, uint32_t keys, uint64_t span_ns)
{
	uint64_t begin = bench_clock_ns(), end, n = 0;
	uint64_t spent = bench_clock_of(CLOCK_THREAD_CPUTIME_ID);
	long slept = n_sleeps();

	do {
		for (unsigned int i = 0; i < 64; i++)
			of->pair(random_below(keys), false);
		n += 64;
		end = bench_clock_ns();
	} while (end - begin < span_ns);
	spent = bench_clock_of(CLOCK_THREAD_CPUTIME_ID) - spent;
	return (double)(n_sleeps() == slept ? spent : end - begin) / (double)n;
}

/* One number of keys: each lock makes them, is timed, and removes them. */
static void measure_keys(const struct lock *of, uint32_t keys)
{
	uint64_t span = bench.quick ? 20000000 : 100000000;
	const char *missing = of->prepare(keys);
	double ns[ROUNDS];

	if (missing) {
		curve_missing("keys", of->name, missing);
		return;
	}
	of->attach();
	(void)time_pairs(of, keys, span);	/* warms up */
	for (unsigned int round = 0; round < n_rounds(); round++)
		ns[round] = time_pairs(of, keys, span);
	curve_point("keys", of->name, keys, bench_percentile(ns, n_rounds(),
	    50));
	of->detach();
	of->finish();
}

void curve_keys(void)
{
	static const struct lock *const locks[] = { &lock_named, &lock_mutex,
	    &lock_bdb, &lock_tdb, &lock_redis };
	const uint32_t most = bench.quick ? 10000 : 10000000;

	bench_pin();
	for (uint32_t keys = 1000; keys <= most; keys *= 10)
		for (size_t i = 0; i < sizeof(locks) / sizeof(*locks); i++)
			measure_keys(locks[i], keys);
	bench_unpin();
}

static void work(unsigned int me)
{
	uint32_t key = own_keys ? me : 0;
	uint64_t n = 0;

	lock->attach();
	lock->pair(key, false);
	for (unsigned int i = 0; i < me; i++)	/* each its own numbers */
		(void)random_below(me);
	contest_meet();
	while (!contest_stopped()) {
		lock->pair(key, random_below(100) < read_percent);
		n++;
	}
	ground->done[me].n = n;
	lock->detach();
}

/* One point of each lock that is there. */
static void measure_crowd(const char *curve, const struct lock *const *locks,
    size_t n_locks, const bool *there, unsigned int procs, double x)
{
	struct contest contest = { .n_workers = procs, .place = PLACE_ANY };
	uint64_t wall = bench.quick ? 20000000 : 100000000;
	double ns[LOCKS_MAX][ROUNDS];
	size_t i, k;

	for (unsigned int round = 0; round < n_rounds(); round++) {
		for (k = 0; k < n_locks; k++) {
			i = (k + round) % n_locks;
			lock = locks[i];
			contest.row.metric = lock->name;
			if (there[i])
				ns[i][round] = contest_sample(&contest, work,
				    wall);
		}
	}
	for (i = 0; i < n_locks; i++)
		if (there[i])
			curve_point(curve, locks[i]->name, x,
			    bench_percentile(ns[i], n_rounds(), 50));
}

static void prepare_all(const char *curve, const struct lock *const *locks,
    size_t n, bool *there)
{
	const char *missing;

	contest_set_up();
	for (size_t i = 0; i < n; i++) {
		missing = locks[i]->prepare(OPENED_MAX);
		there[i] = !missing;
		if (missing)
			curve_missing(curve, locks[i]->name, missing);
	}
}

static void finish_all(const struct lock *const *locks, size_t n,
    const bool *there)
{
	for (size_t i = 0; i < n; i++)
		if (there[i])
			locks[i]->finish();
}

static void measure_procs(const char *curve, const struct lock *const *locks,
    size_t n)
{
	const unsigned int most = bench.quick ? 4 : 64;
	bool there[LOCKS_MAX];

	prepare_all(curve, locks, n, there);
	for (unsigned int procs = 1; procs <= most; procs *= 2)
		measure_crowd(curve, locks, n, there, procs, procs);
	finish_all(locks, n, there);
}

void curve_one_key(void)
{
	static const struct lock *const locks[] = { &lock_opened, &lock_mutex,
	    &lock_flock, &lock_bdb, &lock_tdb };

	measure_procs("one-key", locks, sizeof(locks) / sizeof(*locks));
}

void curve_own_keys(void)
{
	static const struct lock *const locks[] = { &lock_opened, &lock_mutex,
	    &lock_flock, &lock_bdb, &lock_tdb, &lock_redis, &lock_etcd };

	own_keys = true;
	measure_procs("own-keys", locks, sizeof(locks) / sizeof(*locks));
}

void curve_read_share(void)
{
	static const struct lock *const locks[] = { &lock_opened, &lock_rwlock,
	    &lock_flock, &lock_bdb };
	static const unsigned int shares[] = { 0, 10, 25, 50, 75, 90, 95, 99,
	    100 };
	const size_t n = sizeof(locks) / sizeof(*locks);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int procs = cpus < 2 ? 2 : cpus > 8 ? 8 : (unsigned int)cpus;
	bool there[LOCKS_MAX];

	prepare_all("read-share", locks, n, there);
	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares);
	    i += bench.quick ? 4 : 1) {
		read_percent = shares[i];
		measure_crowd("read-share", locks, n, there, procs, shares[i]);
	}
	finish_all(locks, n, there);
}
