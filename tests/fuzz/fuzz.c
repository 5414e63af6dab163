/* SPDX-License-Identifier: MIT */
/*
 * Steps and inputs: see fuzz.h.
 *
 * The library sleeps between two looks at a thing in motion.  Here it does not:
 * nothing moves beside a fuzzer, and a damaged table would be judged for
 * seconds.  (--wrap=clock_nanosleep)
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "fuzz/fuzz.h"
#include "prim/shared.h"

int __wrap_clock_nanosleep(clockid_t clock, int flags,
    const struct timespec *span, struct timespec *left);

static const char *doing = "nothing";
static uint64_t steps_left;

int
__wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *span,
    struct timespec *left)
{
	(void)clock;
	(void)flags;
	(void)span;
	(void)left;
	return 0;
}

void
fuzz_finding(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)fprintf(stderr, "%s: %s: ", fuzz_name, doing);
	(void)vfprintf(stderr, fmt, ap);
	(void)fputc('\n', stderr);
	va_end(ap);
	abort();
}

static void
count(const char *what, const void *addr)
{
	(void)what;
	(void)addr;
	if (--steps_left == 0)
		fuzz_finding("it does not come to an end");
}

void
fuzz_steps(const char *what, uint64_t most)
{
	doing = what;
	steps_left = most;
	lhi_hook = count;
}

uint64_t
fuzz_take(struct fuzz_input *in, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes && in->left > 0; i++) {
		v |= (uint64_t)*in->p++ << 8 * i;
		in->left--;
	}
	return v;
}
