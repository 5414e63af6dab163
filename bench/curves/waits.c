/* SPDX-License-Identifier: MIT */
/*
 * The curves of those who wait: the hand-over as a distribution, the takeover
 * by the memory of the dead process, and the processor time of waiters.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <leasehold.h>

#include "curves.h"
#include "tools/bench_relay.h"
#include "waiters.h"

#define TAKEOVERS	11
#define TAKEOVERS_QUICK	3
#define WAITERS_MAX	1000
#define HOLD_MS		600000

static const char *const relay_names[N_RELAY_LOCKS] = { "leasehold",
	"robust mutex", "flock" };
static struct relay *relays[N_RELAY_LOCKS];

static void start_relays(void)
{
	const struct relay_place place = { bench.table, 0, "curve/relay" };

	for (unsigned int i = 0; i < N_RELAY_LOCKS; i++)
		relays[i] = bench_relay_start((enum relay_lock)i, &place);
}

static void stop_relays(void)
{
	for (unsigned int i = 0; i < N_RELAY_LOCKS; i++)
		bench_relay_stop(relays[i]);
}

void curve_handover(void)
{
	static double ns[N_RELAY_LOCKS][MAX_ROUNDS];
	unsigned int n = bench.quick ? 20 : MAX_ROUNDS, k, i;

	start_relays();
	for (k = 0; k < n; k++)
		for (i = 0; i < N_RELAY_LOCKS; i++)
			ns[i][k] = bench_relay_handover(relays[i]).latency_ns;
	stop_relays();
	for (i = 0; i < N_RELAY_LOCKS; i++)
		for (k = 1; k <= 99; k++)
			curve_point("handover", relay_names[i], k,
			    bench_percentile(ns[i], n, k) / 1000);
}

void curve_takeover(void)
{
	static const size_t mib[] = { 1, 4, 16, 64, 256, 1024 };
	unsigned int n = bench.quick ? TAKEOVERS_QUICK : TAKEOVERS, k, i;
	double ns[N_RELAY_LOCKS][TAKEOVERS];

	start_relays();
	for (size_t size = 0; size < (bench.quick ? 3 : 6); size++) {
		struct relay_holder holder = { 1, mib[size] << 20 };

		for (k = 0; k < n; k++)
			for (i = 0; i < N_RELAY_LOCKS; i++)
				ns[i][k] = bench_relay_takeover(relays[i],
				    &holder);
		for (i = 0; i < N_RELAY_LOCKS; i++)
			curve_point("takeover", relay_names[i],
			    (double)mib[size],
			    bench_percentile(ns[i], n, 50) / 1000);
	}
	stop_relays();
}

static char table[sizeof(bench.table) + 8];
static pthread_mutex_t *mutex;
static char path[sizeof(bench.scratch) + 16];

static struct lh *attach(void)
{
	struct lh_open_opts opts = LH_OPEN_OPTS_INIT;
	struct lh *lh;

	opts.max_sessions = WAITERS_MAX + 8;
	bench_need(lh_open(&lh, table, &opts), "lh_open");
	return lh;
}

static void wait_ours(void)
{
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	struct lh *lh = attach();
	struct lh_lease lease;

	opts.max_wait_ms = HOLD_MS;
	waiters_begin();
	bench_need(lh_acquire(lh, HOT_KEY, &opts, &lease), "acquire");
}

static void wait_mutex(void)
{
	waiters_begin();
	bench_need(pthread_mutex_lock(mutex), "mutex_lock");
}

static FILE *lock_file(void)
{
	FILE *file = fopen(path, "ae");

	if (!file)
		bench_die("%s: %s", path, strerror(errno));
	return file;
}

static void wait_flock(void)
{
	FILE *file = lock_file();

	waiters_begin();
	if (flock(fileno(file), LOCK_EX) < 0)
		bench_die("flock: %s", strerror(errno));
}

void curve_waiters(void)
{
	static void (*const waits[N_RELAY_LOCKS])(void) = { wait_ours,
	    wait_mutex, wait_flock };
	static const unsigned int counts[] = { 1, 3, 10, 30, 100, 300, 1000 };
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;
	struct lh *lh;
	FILE *file;

	(void)snprintf(table, sizeof(table), "%s.waits", bench.table);
	(void)snprintf(path, sizeof(path), "%s/waits", bench.scratch);
	lh = attach();
	opts.ttl_ms = HOLD_MS;
	bench_need(lh_acquire(lh, HOT_KEY, &opts, &lease), "acquire");
	mutex = bench_robust_mutex();
	bench_need(pthread_mutex_lock(mutex), "mutex_lock");
	file = lock_file();
	if (flock(fileno(file), LOCK_EX) < 0)
		bench_die("flock: %s", strerror(errno));
	for (unsigned int k = 0; k < (bench.quick ? 3 : 7); k++)
		for (unsigned int i = 0; i < N_RELAY_LOCKS; i++)
			curve_point("waiters", relay_names[i], counts[k],
			    waiters_spend(counts[k], waits[i], bench.quick ?
			    200000 : 2000000) / 1e6);
	(void)fclose(file);
	bench_need(pthread_mutex_unlock(mutex), "mutex_unlock");
	bench_need(lh_release(lh, &lease), "release");
	bench_need(lh_close(lh), "lh_close");
}
