/* SPDX-License-Identifier: MIT */
/* See moved_clock.h. */
#include <stdatomic.h>
#include <time.h>
#include "base/clock.h"
#include "child.h"
#include "moved_clock.h"
#include "support.h"

static lhi_gettime_fn *real;
static _Atomic int64_t *ahead_ns;	/* shared with children */
static int64_t began_ns;

static int
read_moved(clockid_t clock, struct timespec *ts)
{
	int error = real(clock, ts);
	int64_t ns = lhi_timespec_ns(ts);

	if (clock != CLOCK_REALTIME)
		ns += atomic_load(ahead_ns);
	*ts = (struct timespec){ ns / NS_PER_SEC, ns % NS_PER_SEC };
	return error;
}

void
t_clock_begin(void)
{
	if (real == NULL) {
		ahead_ns = t_shared(sizeof(*ahead_ns));
		real = lhi_gettime;
		lhi_gettime = read_moved;
	}
	began_ns = t_now_ns();
}

void
t_clock_age(int64_t ns)
{
	atomic_store(ahead_ns, began_ns + ns - t_now_ns());
}

void
t_clock_back(void)
{
	atomic_store(ahead_ns, 0);
}
