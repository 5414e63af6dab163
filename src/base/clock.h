/* SPDX-License-Identifier: MIT */
/*
 * Clocks.  Every part of the library calls it.
 *
 * Decisions about other processes' leases use the precise clock.  The fast path
 * computes deadlines from the coarse clock, so a lease may end a little early.
 * The coarse clock never leads.  It lags by a scheduler tick (4 ms), or by
 * nearly two if the processor that updates it has just gone to sleep.
 *
 * The coarse clock is read through the entry point of the vDSO, because glibc's
 * wrapper would double the cost.
 */
#ifndef LHI_CLOCK_H
#define LHI_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_SEC INT64_C(1000000000)

typedef int lhi_gettime_fn(clockid_t clock, struct timespec *ts);
extern lhi_gettime_fn *lhi_gettime __attribute__((visibility("hidden")));

static inline int64_t
lhi_timespec_ns(const struct timespec *ts)
{
	return (int64_t)ts->tv_sec * NS_PER_SEC + ts->tv_nsec;
}

/* Returns the precise time of CLOCK_MONOTONIC or CLOCK_BOOTTIME; takes 20
 * ns. */
int64_t lhi_clock_ns(clockid_t clock);

/* Reads the coarse clock, which lags by up to a tick; takes 3 ns. */
static inline void
lhi_coarse(struct timespec *ts)
{
	(void)lhi_gettime(CLOCK_MONOTONIC_COARSE, ts);
}

#endif
