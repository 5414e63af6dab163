/* SPDX-License-Identifier: MIT */
/* Clocks: see clock.h. */
#include <dlfcn.h>
#include "base/clock.h"

lhi_gettime_fn *lhi_gettime = clock_gettime;

/* Finds the vDSO's entry point.  The vDSO is mapped already, so RTLD_NOLOAD
 * finds it or nothing (valgrind hides it).  Without it, glibc's wrapper is
 * used. */
__attribute__((constructor)) static void
find_vdso(void)
{
	void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *entry;

	if (vdso == NULL)
		return;
	entry = dlsym(vdso, "__vdso_clock_gettime");
	if (entry != NULL)
		lhi_gettime = (lhi_gettime_fn *)entry;
	dlclose(vdso);
}

int64_t
lhi_clock_ns(clockid_t clock)
{
	struct timespec ts;

	(void)lhi_gettime(clock, &ts);
	return lhi_timespec_ns(&ts);
}
