/* SPDX-License-Identifier: MIT */
/* The daemon's clock, which does not depend on the tables' clocks. */
#ifndef DAEMON_NOW_H
#define DAEMON_NOW_H

#include "base/clock.h"

static inline int64_t
mono_ns(void)
{
	return lhi_clock_ns(CLOCK_MONOTONIC);
}

#endif
