/* SPDX-License-Identifier: MIT */
/* Clocks of a benchmark, and times in words. */
#include <stdio.h>

#include "bench_clock.h"

uint64_t bench_clock_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t bench_clock_ns(void)
{
	return bench_clock_of(CLOCK_MONOTONIC);
}

void bench_sleep_us(unsigned int us)
{
	struct timespec ts = {
		.tv_sec = us / 1000000,
		.tv_nsec = (long)(us % 1000000) * 1000
	};

	nanosleep(&ts, NULL);
}

/* Returns a time with three or four digits and its unit. */
const char *bench_time_text(char text[BENCH_TIME_MAX], double ns)
{
	if (ns < 10000)
		(void)snprintf(text, BENCH_TIME_MAX, "%.*f ns",
		    ns < 1000 ? 1 : 0, ns);
	else if (ns < 10000000)
		(void)snprintf(text, BENCH_TIME_MAX, "%.*f us",
		    ns < 1000000 ? 1 : 0, ns / 1000);
	else
		(void)snprintf(text, BENCH_TIME_MAX, "%.1f ms", ns / 1000000);
	return text;
}
