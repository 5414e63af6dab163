/* SPDX-License-Identifier: MIT */
/* The point that is to be reached: see target.c. */
#ifndef CRASH_TARGET_H
#define CRASH_TARGET_H

#include "crash/attempt.h"
#include "crash/inject.h"

#define TARGET_TOLD 8		/* findings told in full */

/* The point tr->at[i].  Of those before it in the first recording, the last two
 * that were reached at full speed; 0: the beginning. */
struct target {
	const struct trace *tr;
	size_t i;
	size_t reached[2];
};

/* The next point; it may lie in another recording, or before the last one. */
void target_aim(struct target *to, size_t i);

/*
 * Makes the attempt at that point: again after a finding, and in other ways
 * when it was passed by.  *how is that of the last one, *tries how often there
 * was a finding before it.  It says what was found.
 */
enum outcome target_reach(struct trial *p, const struct scenario *sc,
    struct target *to, attempt_fn *attempt, const struct first_crash *first,
    const struct inject_opts *o, const struct inject_tally *t,
    struct approach *how, int *tries);

/* The same, and counts what came of it. */
void target_try(struct trial *p, const struct scenario *sc, struct target *to,
    attempt_fn *attempt, const struct first_crash *first,
    const struct inject_opts *o, struct inject_tally *t);

#endif
