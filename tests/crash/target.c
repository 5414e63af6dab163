/* SPDX-License-Identifier: MIT */
/*
 * Reaching a point that was recorded, in another run.
 *
 * This is a machine with other work to do, and 100 ms are 100 ms: a point with
 * a finding is tried up to twice more, and counts if it never goes well.  What
 * real fault shows each time.  A run that does not reach its point is made
 * again as it was recorded: it waits for a tick of the clock at one of the two
 * points before, or is late for its sleeps, if it was (late_sleep.c).  If that
 * is no help, with `looks`, it is stepped.  Not all points are worth that: the
 * first few that are passed by all the same are, and the others are counted as
 * ended early.
 */
#include <stdio.h>
#include <string.h>
#include "crash/target.h"
#include "tap.h"

#define TRIES 3
#define SLOW_TRIES 3
#define STRAYS_MAX 5		/* unless full */

/* A point that was passed by is worth another way. */
static bool
is_worth_it(const struct inject_opts *o, const struct inject_tally *t)
{
	return o->full || t->early < STRAYS_MAX + t->tried / 64;
}

/* ... how often the slow one. */
static int
slow_tries(const struct inject_opts *o, const struct inject_tally *t)
{
	if (o->full)
		return SLOW_TRIES;
	return o->looks && is_worth_it(o, t);
}

/* Tries once, at full speed or, if that does not reach the point, otherwise. */
static enum outcome
attempt_somehow(struct trial *p, const struct scenario *sc,
    const struct target *to, attempt_fn *attempt,
    const struct first_crash *first, const struct inject_opts *o,
    const struct inject_tally *t, struct approach *how)
{
	const struct point *at = &to->tr->at[to->i];
	enum outcome out = attempt(p, sc, at, *how, first);
	bool quick = how->pace == PACE_QUICK && is_worth_it(o, t);

	for (int k = 0; out == PASSED_BY && quick && k < 2; k++) {
		*how = trace_by_way(to->tr, to->reached[k], to->i);
		out = attempt(p, sc, at, *how, first);
	}
	if (out == PASSED_BY && quick && late_sleep_any(at->late)) {
		*how = (struct approach){ .pace = PACE_LATE };
		out = attempt(p, sc, at, *how, first);
	}
	for (int i = 0; out == PASSED_BY && i < slow_tries(o, t); i++) {
		*how = (struct approach){ .pace = PACE_SLOW };
		out = attempt(p, sc, at, *how, first);
	}
	return out;
}

enum outcome
target_reach(struct trial *p, const struct scenario *sc, struct target *to,
    attempt_fn *attempt, const struct first_crash *first,
    const struct inject_opts *o, const struct inject_tally *t,
    struct approach *how, int *tries)
{
	const struct point *at = &to->tr->at[to->i];
	enum outcome out = CLEAN;
	char place[200], before[260] = "";

	if (first != NULL)
		snprintf(before, sizeof(before), "#%u %s, then ",
		    first->at->index, trace_place(first->at, place,
		    sizeof(place)));
	*how = (struct approach){ .pace = PACE_QUICK };
	for (*tries = 0; *tries < TRIES; ++*tries) {
		out = attempt_somehow(p, sc, to, attempt, first, o, t, how);
		if (out != FINDING)
			break;
		if (!o->quiet)
			diag_failed("%s %s#%u %s: try %d: %s", sc->name, before,
			    at->index, trace_place(at, place, sizeof(place)),
			    *tries + 1, p->finding);
	}
	if (out == CLEAN && how->pace == PACE_QUICK &&
	    to->i <= to->tr->instructions) {
		to->reached[1] = to->reached[0];
		to->reached[0] = to->i;
	}
	return out;
}

void
target_try(struct trial *p, const struct scenario *sc, struct target *to,
    attempt_fn *attempt, const struct first_crash *first,
    const struct inject_opts *o, struct inject_tally *t)
{
	struct approach how;
	int tries;

	switch (target_reach(p, sc, to, attempt, first, o, t, &how, &tries)) {
	case PASSED_BY:
		t->early++;
		return;
	case CLEAN:
		t->retried += tries > 0;
		break;
	case FINDING:
		t->failures++;
		t->blocking += atomic_load(&p->blocked) != 0;
		break;
	}
	t->tried++;
}

void
target_aim(struct target *to, size_t i)
{
	to->i = i;
	if (i > to->tr->instructions || to->reached[0] > i)
		memset(to->reached, 0, sizeof(to->reached));
}
