/* SPDX-License-Identifier: MIT */
/* Can the harness fail?  See selftest.c. */
#ifndef CRASH_SELFTEST_H
#define CRASH_SELFTEST_H

#include "crash/trial.h"

/* Prints its TAP lines.  (thorough: what takes long as well) */
void selftest(struct trial *p, bool thorough);

/* The part of it in selftest_places.c. */
void selftest_places(struct trial *p, bool thorough);

#endif
