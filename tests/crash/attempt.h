/* SPDX-License-Identifier: MIT */
/* One kill, one stop, two kills: see attempt.c. */
#ifndef CRASH_ATTEMPT_H
#define CRASH_ATTEMPT_H

#include "crash/scenario.h"

/* One point: what became of it. */
enum outcome { CLEAN, FINDING, PASSED_BY };

/* The first of two crashes. */
struct first_crash {
	const struct point *at;
	struct approach how;
};

/* `at` is the second crash when there is a first. */
typedef enum outcome attempt_fn(struct trial *p, const struct scenario *sc,
    const struct point *at, struct approach how,
    const struct first_crash *first);

attempt_fn attempt_kill, attempt_stop, attempt_double;

#endif
