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
 *
 * target.c says how a point is reached; double.c kills the recoverer as well.
 * The points: between two changes of the shared memory all kills look the same
 * to the others, so a kill is tried after each change and on both sides of each
 * system call (with `looks` also of read-only ones).  A stop is also tried just
 * before each change, and at a sample of the instructions between: what the
 * stopped process has read is old when it continues.  `full` tries every
 * instruction.
 */
#include <string.h>
#include "crash/inject.h"
#include "crash/setup.h"
#include "crash/target.h"
#include "tap.h"

#define KILL_AT (AT_BEGIN | AT_CHANGE | AT_ENTER | AT_RETURN | AT_END)
#define STOP_AT (KILL_AT | AT_VERGE | AT_BETWEEN)
#define STOP_SAMPLE 8

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
	unsigned told_max = o->first ? 1 : TARGET_TOLD;
	struct target to = { tr, 0, { 0, 0 } };

	for (size_t n = from; n < tr->n; n++) {
		/* what the operation has changed is in danger at its end */
		size_t i = o->first ? tr->n - 1 - (n - from) : n;

		if (!chosen(tr, i, mask, o))
			continue;
		t->points++;
		target_aim(&to, i);
		if (t->failures < told_max || o->quiet)
			target_try(p, sc, &to, attempt, NULL, o, t);
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
