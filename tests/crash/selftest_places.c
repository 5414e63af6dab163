/* SPDX-License-Identifier: MIT */
/*
 * Does a recording of places (places.c) have each change and each system call
 * of one that is stepped?  It has not, if the guard lets a write pass, or if a
 * place is counted wrongly.
 *
 * Two runs may differ by a tick of the clock, so two that agree are enough.  On
 * a slow machine each one that is stepped meets a tick.  So every other one of
 * places begins late, and meets it, too.
 */
#include <string.h>
#include "crash/double.h"
#include "crash/places.h"
#include "crash/selftest.h"
#include "crash/setup.h"
#include "tap.h"

#define TRIES 20		/* about half of them agree, under load */
#define WHY (AT_BEGIN | AT_CHANGE | AT_VERGE | AT_ENTER | AT_RETURN | AT_END)

/* Points of the one that are not in the other. */
static unsigned
count_missing(const struct trace *a, const struct trace *b, unsigned *points)
{
	unsigned missing = 0;

	*points = 0;
	for (size_t i = 0; i <= a->instructions; i++) {
		if ((a->at[i].why & WHY) == 0)
			continue;
		++*points;
		missing += !trace_has(b, b->n, &a->at[i]);
	}
	return missing;
}

/* Where the operation of a scenario ends. */
static bool
record_end(struct trial *p, const struct scenario *sc, struct trace *t)
{
	places_wanted(true);
	return setup_record(p, sc, MODE_DOUBLE, t);
}

/* The recovery from a death there. */
static bool
record_recovery(struct trial *p, const struct scenario *sc,
    const struct trace *of, struct trace *t)
{
	const struct point *end = &of->at[of->instructions];

	places_forget(false);
	if (double_record(p, sc, end, (struct approach){ .pace = PACE_QUICK },
	    NULL) != CLEAN)
		return false;
	*t = double_recovery;
	memset(&double_recovery, 0, sizeof(double_recovery));
	return true;
}

/* (MODE_DOUBLE: the recovery) */
static void
compare(struct trial *p, const char *name, enum trial_mode mode)
{
	const struct scenario *sc = scenario_find(name);
	unsigned points = 0, others = 0, missing = 1, surplus = 1;
	uint32_t stepped = 0, noted = 0;
	struct trace of = { 0 };
	bool good = sc != NULL, twice = mode == MODE_DOUBLE;

	if (good && twice)
		good = record_end(p, sc, &of);

	for (int i = 0; good && i < TRIES && missing + surplus > 0; i++) {
		struct trace a = { 0 }, b = { 0 };

		places_wanted(false);
		good = twice ? record_recovery(p, sc, &of, &a) :
		    setup_record(p, sc, mode, &a);
		places_wanted(true);
		places_late(i % 2 != 0);
		good = good && (twice ? record_recovery(p, sc, &of, &b) :
		    setup_record(p, sc, mode, &b)) && b.sparse;
		if (good) {
			missing = count_missing(&a, &b, &points);
			surplus = count_missing(&b, &a, &others);
			stepped = a.instructions;
			noted = b.instructions;
		}
		trace_free(&a);
		trace_free(&b);
	}
	places_wanted(false);
	places_late(false);
	trace_free(&of);
	ok(good && points > 0 && missing == 0 && surplus == 0,
	    "selftest: the places of %s%s: %u of %u instructions; of %u "
	    "points %u are missing, of %u %u are too many",
	    twice ? "a recovery from " : "", name, noted, stepped, points,
	    missing, others, surplus);
}

void
selftest_places(struct trial *p, bool thorough)
{
	compare(p, "release", MODE_KILL);
	compare(p, "acquire-free", MODE_KILL);
	compare(p, "key-create", MODE_STOP);
	compare(p, "session-open", MODE_KILL);
	compare(p, "evict", MODE_KILL);
	if (thorough)
		compare(p, "release", MODE_DOUBLE);
}
