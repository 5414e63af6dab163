/* SPDX-License-Identifier: MIT */
/*
 * Killing and stopping at every point.
 *
 * An operation is recorded (trace.c); then, for each point chosen, the same
 * scene is staged anew, the subject run to the point, and
 *
 *	kill	killed; a checker, a process of its own, looks at what is left
 *	stop	left as it is; the server, which was there before, goes about
 *		its business; then the subject goes on to its end
 *	double	killed; a recoverer is recorded, and then, staging all of it
 *		again for each of the recoverer's points, killed too; then the
 *		checker
 *
 * The points: between two changes of the shared memory all kills look the same
 * to the others, so a kill is tried after each change and on both sides of each
 * system call (with `looks` also of read-only ones).  A stop is also tried just
 * before each change, and at a sample of the instructions between: what the
 * stopped process has read is old when it continues.  `full` tries every
 * instruction.
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
#include "crash/attempt.h"
#include "crash/inject.h"
#include "crash/setup.h"
#include "tap.h"

#define TRIES 3
#define SLOW_TRIES 3
#define STRAYS_MAX 5		/* unless full */
#define TOLD_MAX 8		/* findings told in full */
#define SAMPLE_FIRST 5		/* double, without a stride */
#define SAMPLE_SECOND 16

#define KILL_AT (AT_BEGIN | AT_CHANGE | AT_ENTER | AT_RETURN | AT_END)
#define STOP_AT (KILL_AT | AT_VERGE | AT_BETWEEN)
#define STOP_SAMPLE 8

/* The point tr->at[i].  Of those before it in the first recording, the last two
 * that were reached at full speed; 0: the beginning. */
struct target {
	const struct trace *tr;
	size_t i;
	size_t reached[2];
};

/* A point that was passed by is worth another way. */
static bool
is_worth_it(const struct inject_opts *o, const struct inject_tally *t)
{
	return o->full || t->early < STRAYS_MAX;
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

static void
try_point(struct trial *p, const struct scenario *sc, struct target *to,
    attempt_fn *attempt, const struct first_crash *first,
    const struct inject_opts *o, struct inject_tally *t)
{
	const struct point *at = &to->tr->at[to->i];
	struct approach how = { .pace = PACE_QUICK };
	enum outcome out = CLEAN;
	char place[200], before[260] = "";
	int tries;

	if (first != NULL)
		snprintf(before, sizeof(before), "#%u %s, then ",
		    first->at->index, trace_place(first->at, place,
		    sizeof(place)));

	for (tries = 0; tries < TRIES; tries++) {
		out = attempt_somehow(p, sc, to, attempt, first, o, t, &how);
		if (out != FINDING)
			break;
		if (!o->quiet)
			diag_failed("%s %s#%u %s: try %d: %s", sc->name, before,
			    at->index, trace_place(at, place, sizeof(place)),
			    tries + 1, p->finding);
	}
	if (out == CLEAN && how.pace == PACE_QUICK &&
	    to->i <= to->tr->instructions) {
		to->reached[1] = to->reached[0];
		to->reached[0] = to->i;
	}
	switch (out) {
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

static bool
chosen(const struct trace *tr, size_t i, uint32_t mask,
    const struct inject_opts *o)
{
	if (o->at >= 0)
		return tr->at[i].index == (uint32_t)o->at &&
		    i <= tr->instructions;
	if (o->full || (tr->at[i].why & mask) != 0 ||
	    (o->looks && (tr->at[i].why & AT_LOOK)))
		return true;
	return mask == STOP_AT && !tr->sparse && i < tr->instructions &&
	    i % (tr->instructions / STOP_SAMPLE + 1) == 0;
}

/* The next point; it may lie in another recording, or before the last one. */
static void
aim(struct target *to, size_t i)
{
	to->i = i;
	if (i > to->tr->instructions || to->reached[0] > i)
		memset(to->reached, 0, sizeof(to->reached));
}

static void
begin(struct trial *p, const struct inject_opts *o, struct inject_tally *t)
{
	memset(t, 0, sizeof(*t));
	t->took_ns = trial_now_ns();
	p->full = o->full;
}

/* With a recording, or without. */
static void
end(struct trace *tr, struct inject_tally *t)
{
	t->instructions = tr->instructions;
	t->sparse = tr->sparse;
	t->states = tr->states;
	t->took_ns = trial_now_ns() - t->took_ns;
	trace_free(tr);
}

static bool
is_recorded(struct trial *p, const struct scenario *sc, bool good)
{
	if (!good)
		diag_failed("%s cannot be recorded: %s", sc->name, p->finding);
	return good;
}

/* All that are chosen of points from..tr->n. */
static void
try_points(struct trial *p, const struct scenario *sc, const struct trace *tr,
    size_t from, uint32_t mask, attempt_fn *attempt,
    const struct inject_opts *o, struct inject_tally *t)
{
	unsigned told_max = o->first ? 1 : TOLD_MAX;
	struct target to = { tr, 0, { 0, 0 } };

	for (size_t n = from; n < tr->n; n++) {
		/* what the operation has changed is in danger at its end */
		size_t i = o->first ? tr->n - 1 - (n - from) : n;

		if (!chosen(tr, i, mask, o))
			continue;
		t->points++;
		aim(&to, i);
		if (t->failures < told_max || o->quiet)
			try_point(p, sc, &to, attempt, NULL, o, t);
	}
	if (t->failures >= told_max && !o->quiet)
		diag_failed("%s: %u points failed, the rest was not tried",
		    sc->name, told_max);
}

/* Records again, for points that the first recording did not reach. */
static bool
try_new_points(struct trial *p, const struct scenario *sc, enum trial_mode mode,
    struct trace *tr, uint32_t mask, attempt_fn *attempt,
    const struct inject_opts *o, struct inject_tally *t)
{
	uint32_t was = tr->instructions;
	size_t n = tr->n;

	if (!is_recorded(p, sc, setup_record_on(p, sc, mode, tr, 1,
	    RECORDINGS)))
		return false;
	/* (the first one may have been given up) */
	try_points(p, sc, tr, tr->instructions == was && tr->n >= n ? n : 0,
	    mask, attempt, o, t);
	return true;
}

static bool
drive(struct trial *p, const struct scenario *sc, enum trial_mode mode,
    uint32_t mask, attempt_fn *attempt, const struct inject_opts *o,
    struct inject_tally *t)
{
	struct trace tr = { 0 };
	bool good;

	begin(p, o, t);
	good = is_recorded(p, sc, setup_record_on(p, sc, mode, &tr, 0,
	    o->first ? 1 : RECORDINGS));
	if (good)
		try_points(p, sc, &tr, 0, mask, attempt, o, t);
	if (good && o->first && t->failures == 0)
		good = try_new_points(p, sc, mode, &tr, mask, attempt, o, t);
	end(&tr, t);
	return good;
}

bool
inject_kill(struct trial *p, const struct scenario *sc,
    const struct inject_opts *o, struct inject_tally *t)
{
	return drive(p, sc, MODE_KILL, KILL_AT, attempt_kill, o, t);
}

bool
inject_stop(struct trial *p, const struct scenario *sc,
    const struct inject_opts *o, struct inject_tally *t)
{
	return drive(p, sc, MODE_STOP, STOP_AT, attempt_stop, o, t);
}

bool
inject_both(struct trial *p, const struct scenario *sc,
    const struct inject_opts *o, struct inject_tally *killed,
    struct inject_tally *stopped)
{
	struct trace k = { 0 }, s = { 0 };
	bool good;

	begin(p, o, killed);
	begin(p, o, stopped);
	good = is_recorded(p, sc, setup_record_both(p, sc, &k, &s));
	if (good) {
		try_points(p, sc, &k, 0, KILL_AT, attempt_kill, o, killed);
		try_points(p, sc, &s, 0, STOP_AT, attempt_stop, o, stopped);
	}
	end(&k, killed);
	end(&s, stopped);
	return good;
}

/* Records the steps of a recovering process after a crash at `first`. */
static bool
record_recovery(struct trial *p, const struct scenario *sc,
    const struct first_crash *first, struct trace *tr)
{
	pid_t pid = setup_trial(p, sc, MODE_DOUBLE, first->how.pace,
	    NULL);
	bool good = false;

	memset(tr, 0, sizeof(*tr));
	if (pid > 0 && trace_run_to(p, pid, first->at,
	    first->how) == TRACE_AT) {
		trial_kill(pid);
		pid = trace_start(p, NULL, sc->recover != NULL ? sc->recover :
		    checker_recover, NULL);
		good = pid > 0 && trace_record(p, pid, tr);
	}
	trial_sweep(p);
	return good;
}

/* Every how many-th of n, for a sample of about `sample`. */
static unsigned
stride_for(const struct inject_opts *o, size_t n, unsigned sample)
{
	if (o->stride != 0)
		return o->stride;
	return n <= sample ? 1 : (unsigned)((n + sample - 1) / sample);
}

static size_t
count_chosen(const struct trace *tr, const struct inject_opts *o)
{
	size_t n = 0;

	for (size_t i = 0; i < tr->n; i++)
		n += chosen(tr, i, KILL_AT, o);
	return n;
}

/* All (or every n-th) of the recoverer's points after a crash at `at`. */
static void
double_at(struct trial *p, const struct scenario *sc, const struct point *at,
    unsigned turn, const struct inject_opts *o, struct inject_tally *t)
{
	struct inject_opts all = { .at = -1, .full = o->full,
	    .looks = o->looks };
	struct first_crash first = { at, { .pace = PACE_QUICK } };
	struct trace tr;
	struct target to = { &tr, 0, { 0, 0 } };
	unsigned stride, k = turn;

	for (int i = 0; !record_recovery(p, sc, &first, &tr) &&
	    !atomic_load(&p->blamed) && i <= SLOW_TRIES; i++)
		first.how.pace = i == 0 ? PACE_LATE : PACE_SLOW;
	if (tr.n == 0) {
		t->points++;
		if (atomic_load(&p->blamed)) {
			diag_failed("%s: no recovery: %s", sc->name,
			    p->finding);
			t->failures++;
			t->tried++;
		} else {
			t->early++;
		}
		trace_free(&tr);
		return;
	}
	stride = stride_for(o, count_chosen(&tr, &all), SAMPLE_SECOND);
	for (size_t i = 0; i < tr.n; i++) {
		if (!chosen(&tr, i, KILL_AT, &all) || k++ % stride != 0)
			continue;
		t->points++;
		aim(&to, i);
		if (t->failures < TOLD_MAX || o->quiet)
			try_point(p, sc, &to, attempt_double, &first, o, t);
	}
	trace_free(&tr);
}

bool
inject_double(struct trial *p, const struct scenario *sc,
    const struct inject_opts *o, struct inject_tally *t)
{
	struct trace tr = { 0 };
	unsigned stride, k = 0, turn = 0;
	bool good;

	begin(p, o, t);
	good = is_recorded(p, sc, setup_record(p, sc, MODE_DOUBLE, &tr));
	stride = stride_for(o, count_chosen(&tr, o), SAMPLE_FIRST);
	for (size_t i = 0; good && i < tr.n; i++) {
		if (chosen(&tr, i, KILL_AT, o) && k++ % stride == stride / 2)
			double_at(p, sc, &tr.at[i], turn++, o, t);
	}
	end(&tr, t);
	return good;
}
