/* SPDX-License-Identifier: MIT */
/* Measures the processor time of processes that wait for one lock. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "waiters.h"

#define WAITERS_MAX	1000
#define PATIENCE_NS	UINT64_C(20000000000)
#define SETTLE_US	300000		/* all have begun to sleep by then */

static _Atomic unsigned int *begun;

void waiters_begin(void)
{
	++*begun;
}

static double spent_ns(const int *pids, unsigned int n)
{
	struct timespec used;
	double sum = 0;
	clockid_t clock;

	for (unsigned int i = 0; i < n; i++) {
		bench_need(clock_getcpuclockid(pids[i], &clock), "cpuclock");
		if (clock_gettime(clock, &used) != 0)
			bench_die("a waiter is gone: %s", strerror(errno));
		sum += 1e9 * (double)used.tv_sec + (double)used.tv_nsec;
	}
	return sum;
}

double waiters_spend(unsigned int n, void (*wait)(void), unsigned int span_us)
{
	static int pids[WAITERS_MAX];
	uint64_t end = bench_clock_ns() + PATIENCE_NS, from;
	double spent;

	if (!begun)
		begun = bench_shared(sizeof(*begun));
	*begun = 0;
	for (unsigned int i = 0; i < n; i++) {
		pids[i] = bench_fork();
		if (pids[i] == 0) {
			wait();
			_exit(0);
		}
	}
	while (*begun < n) {
		if (bench_clock_ns() > end)
			bench_die("%u of %u processes wait", *begun, n);
		bench_sleep_us(1000);
	}
	bench_sleep_us(SETTLE_US);
	from = bench_clock_ns();
	spent = spent_ns(pids, n);
	bench_sleep_us(span_us);
	spent = (spent_ns(pids, n) - spent) * 1e9 /
	    (double)(bench_clock_ns() - from);
	bench_kill(pids, n);
	return spent;
}
