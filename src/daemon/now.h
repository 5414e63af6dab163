/* SPDX-License-Identifier: MIT */
/* The daemon's time: whatever the clocks of the tables are. */
#ifndef DAEMON_NOW_H
#define DAEMON_NOW_H

#include "base/clock.h"

static inline int64_t
mono_ns(void)
{
	return lhi_clock_ns(CLOCK_MONOTONIC);
}

#endif
