/* SPDX-License-Identifier: MIT */
/* One kill, one stop, two kills: see attempt.c. */
#ifndef CRASH_ATTEMPT_H
#define CRASH_ATTEMPT_H

#include "crash/scenario.h"

/* One point: what became of it. */
enum outcome { CLEAN, FINDING, PASSED_BY };

/* The first of two crashes.  If it is passed by, the other approach, if there
 * is one, is taken. */
struct first_crash {
	const struct point *at;
	struct approach how;
	const struct approach *other;
};

/* `at` is the second crash when there is a first. */
typedef enum outcome attempt_fn(struct trial *p, const struct scenario *sc,
    const struct point *at, struct approach how,
    const struct first_crash *first);

attempt_fn attempt_kill, attempt_stop, attempt_double;

/*
 * Stages the first crash, and starts the process that recovers from it: stopped
 * where it begins.  Its pid, or -1: *end says what became of the one that was
 * to die.
 */
pid_t attempt_recoverer(struct trial *p, const struct scenario *sc,
    const struct first_crash *first, enum trace_end *end);

#endif
