/* SPDX-License-Identifier: MIT */
/* Clocks of a benchmark, and times in words.  See bench_clock.c. */
#ifndef TOOLS_BENCH_CLOCK_H
#define TOOLS_BENCH_CLOCK_H

#include <stdint.h>
#include <time.h>

uint64_t bench_clock_of(clockid_t clock);
/* The monotonic one. */
uint64_t bench_clock_ns(void);
void bench_sleep_us(unsigned int us);

#define BENCH_TIME_MAX 32
const char *bench_time_text(char text[BENCH_TIME_MAX], double ns);

#endif
