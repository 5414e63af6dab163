/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the self-test: see selftest.c. */
#ifndef CRASH_SELFTEST_TOY_H
#define CRASH_SELFTEST_TOY_H

#include "crash/inject.h"
#include "crash/trial.h"

struct toy {
	_Atomic uint32_t latch;
	volatile uint32_t n;
	volatile uint32_t a, b;		/* a + b is 100 */
	volatile uint32_t journal, old_a, old_b;
};

static inline struct toy *
toy_of(struct trial *p)
{
	return (struct toy *)(void *)p->toy;
}

/* Takes the latch, if it is free within ms. */
bool selftest_latch_take(struct toy *t, int64_t ms);

/* Blames who has left it taken. */
void selftest_latch_check(struct trial *p);

/* Sleeps that are late, and such as are not (selftest_late.c). */
void selftest_late(struct trial *p, const struct inject_opts *o);

#endif
