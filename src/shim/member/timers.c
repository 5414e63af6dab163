/* SPDX-License-Identifier: MIT */
/* The clock that D is measured by, jitter, and timers. */
#include <time.h>
#include <bsd/stdlib.h>
#include "member.h"

uint64_t
timers_boottime_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

unsigned
timers_jitter_ms(unsigned ms)
{
	return ms / 2 + arc4random_uniform(ms + 1);
}

void
timers_start(struct event *ev, unsigned ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	(void)event_add(ev, &tv);
}
