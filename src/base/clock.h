/* SPDX-License-Identifier: MIT */
/*
 * Time.  Decisions about other people's leases use the precise clock; the fast
 * path computes deadlines from the coarse one, which lags by a scheduler tick
 * (4 ms; by nearly two where the processor that keeps it has just gone to
 * sleep) and never leads: a lease may end a little early.
 *
 * The coarse clock is read through the vDSO's own entry point: glibc's wrapper
 * around it costs as much again as the clock.
 */
#ifndef LHI_CLOCK_H
#define LHI_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_SEC INT64_C(1000000000)

typedef int lhi_gettime_fn(clockid_t clock, struct timespec *ts);
extern lhi_gettime_fn *lhi_gettime;

static inline int64_t
lhi_timespec_ns(const struct timespec *ts)
{
	return (int64_t)ts->tv_sec * NS_PER_SEC + ts->tv_nsec;
}

/* Precise; 20 ns.  CLOCK_MONOTONIC or CLOCK_BOOTTIME. */
int64_t lhi_clock_ns(clockid_t clock);

/* Lags by up to a tick; 3 ns. */
static inline void
lhi_coarse(struct timespec *ts)
{
	(void)lhi_gettime(CLOCK_MONOTONIC_COARSE, ts);
}

#endif
