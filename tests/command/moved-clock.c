/* SPDX-License-Identifier: MIT */
/*
 * The machine's clocks, moved on for the command, for old.t: LH_TEST_AHEAD
 * seconds.  Linked in front with -Wl,--wrap=clock_gettime, and without the
 * vDSO's entry, which the library otherwise calls past it.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
void *__real_dlopen(const char *file, int mode);
void *__wrap_dlopen(const char *file, int mode);

int
__wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	const char *ahead = getenv("LH_TEST_AHEAD");
	int error = __real_clock_gettime(clock, ts);

	if (ahead != NULL && clock != CLOCK_REALTIME)
		ts->tv_sec += atoll(ahead);
	return error;
}

void *
__wrap_dlopen(const char *file, int mode)
{
	return strstr(file, "vdso") != NULL ? NULL : __real_dlopen(file, mode);
}
