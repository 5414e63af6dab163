/* SPDX-License-Identifier: MIT */
/*
 * Zeroes the pages of MADV_WIPEONFORK in a forked child, where nothing else
 * does.  qemu-user before 8.0 accepts this advice and forgets it.  Only F=arm64
 * is built with this (-Wl,--wrap=madvise).
 *
 * The constructor runs before the library's, and so does its handler in the
 * child.
 * A child of _Fork() or clone() runs no handlers: see tests/arm64/not-run.
 */
#ifdef TEST_WIPES_ON_FORK
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define RANGES_MAX 4096

int __real_madvise(void *at, size_t len, int advice);
int __wrap_madvise(void *at, size_t len, int advice);

static struct range {
	void *at;
	size_t len;
} ranges[RANGES_MAX];
static _Atomic unsigned n_ranges;

int
__wrap_madvise(void *at, size_t len, int advice)
{
	unsigned i;

	if (advice != MADV_WIPEONFORK)
		return __real_madvise(at, len, advice);
	i = n_ranges++;
	if (i >= RANGES_MAX)
		return -1;
	ranges[i] = (struct range){ at, len };
	return 0;
}

static void
wipe(void)
{
	for (unsigned i = 0; i < n_ranges; i++)
		memset(ranges[i].at, 0, ranges[i].len);
}

__attribute__((constructor(101))) static void
register_handler(void)
{
	(void)pthread_atfork(NULL, NULL, wipe);
}
#endif
