/* SPDX-License-Identifier: MIT */
/*
 * step: kills and stops every operation at every instruction.
 *
 *	step kill [SCENARIO...] [--full] [--thorough] [--at N]
 *		[--first]
 *	step stop	the same
 *	step both	kill, then stop, with recordings in common
 *	step double [SCENARIO...] [--stride N] [--first]
 *	step list
 *	step operations		each scenario, and the first with its operation
 *	step selftest [--thorough]
 *
 * TAP, one line a scenario.  --full tries every instruction instead of every
 * distinct state.  --thorough also tries both sides of read-only system calls
 * (system_call.c), and waits that are late for each of their sleeps
 * (late_sleep.c).  --at N tries only instruction N: that of a diagnostic, whose
 * number is stable enough to repeat a finding.  --first ends a scenario at its
 * first finding.  --stride N in double takes every N-th state of both deaths
 * instead of a sample (1: all pairs); --thorough changes nothing there, because
 * to step through each recovery takes hours.  --jobs N tries N scenarios at a
 * time.
 *
 * inject.c and double.c say what is tried and how, checker.c and server.c what
 * is checked afterwards; scenario.c has the scenarios.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "crash/double.h"
#include "crash/inject.h"
#include "crash/jobs.h"
#include "crash/places.h"
#include "crash/selftest.h"
#include "tap.h"

static int
usage(void)
{
	fprintf(stderr, "usage: step kill|stop|both|double [SCENARIO...] "
	    "[--full]\n       [--thorough] [--stride N] [--at N] [--first] "
	    "[--jobs N]\n"
	    "       step list | operations | selftest\n");
	return 64;
}

/* Subjects and those who judge them wait for each other. */
static long
usual_jobs(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus < 1 ? 1 : cpus > JOBS_MAX / 2 ? JOBS_MAX : 2 * cpus;
}

static int
list(void)
{
	for (int i = 0; i < scenario_count(); i++)
		printf("%-24s %s\n", scenario_at(i)->name,
		    scenario_at(i)->what);
	return 0;
}

/* An operation is what a scenario does under the stepper: its act.  It is
 * called after the first scenario that does it. */
static int
operations(void)
{
	for (int i = 0; i < scenario_count(); i++) {
		int first = 0;

		while (scenario_at(first)->act != scenario_at(i)->act)
			first++;
		printf("%s %s\n", scenario_at(i)->name,
		    scenario_at(first)->name);
	}
	return 0;
}

/* Writes a text about the points tried; true if all of them passed. */
static bool
describe(enum trial_mode mode, const struct inject_tally *t, char *text,
    size_t size)
{
	const char *unit = t->sparse ? "points" : "instructions";
	size_t len;

	switch (mode) {
	case MODE_KILL:
		snprintf(text, size, "%u %s, %u distinct states, %u killed, "
		    "%u failures", t->instructions, unit, t->states, t->tried,
		    t->failures);
		break;
	case MODE_STOP:
		snprintf(text, size, "%u %s, %u distinct states, %u stopped, "
		    "%u that block others, %u other failures",
		    t->instructions, unit, t->states, t->tried, t->blocking,
		    t->failures - t->blocking);
		break;
	case MODE_DOUBLE:
		snprintf(text, size, "%u distinct states, %u pairs of kills, "
		    "%u failures", t->states, t->tried, t->failures);
		break;
	}
	len = strlen(text);
	if (t->early > 0)
		snprintf(text + len, size - len, ", %u ended early", t->early);
	len = strlen(text);
	if (t->retried > 0)
		snprintf(text + len, size - len, ", %u retried", t->retried);
	return t->failures == 0 && t->tried > 0 &&
	    t->tried + t->early == t->points;
}

/* Try one scenario, and say in words what came of it. */
static bool
one(struct trial *p, struct work *w, int i, char *line, size_t size)
{
	static const char *const verbs[] = { "kill", "stop", "double" };
	static bool (*const injectors[])(struct trial *,
	    const struct scenario *, const struct inject_opts *,
	    struct inject_tally *) = { inject_kill, inject_stop,
	    inject_double };
	const struct scenario *sc = w->some[i];
	struct inject_tally t, stopped;
	char text[200], more[200] = "";
	bool good;

	if (w->both)
		good = inject_both(p, sc, &w->opts, &t, &stopped);
	else
		good = injectors[w->mode](p, sc, &w->opts, &t);
	if (!good) {
		snprintf(line, size, "%s %s", w->both ? "both" :
		    verbs[w->mode], sc->name);
		return false;
	}
	good = describe(w->mode, &t, text, sizeof(text));
	if (w->both)
		good &= describe(MODE_STOP, &stopped, more, sizeof(more));
	snprintf(line, size, "%s %s: %s%s%s, %.1f s", w->both ? "both" :
	    verbs[w->mode], sc->name, text, more[0] != '\0' ? "; " : "", more,
	    (double)t.took_ns / 1e9);
	return good;
}

static bool
number(const char *arg, long *n)
{
	char *end;

	if (arg == NULL)
		return false;
	*n = strtol(arg, &end, 10);
	return end != arg && *end == '\0' && *n >= 0;
}

int
main(int argc, char **argv)
{
	struct work w = { .opts = { .at = -1 } };
	bool thorough = false;
	long v, jobs = 0;

	if (argc < 2)
		return usage();
	if (strcmp(argv[1], "list") == 0)
		return list();
	if (strcmp(argv[1], "operations") == 0)
		return operations();
	for (int i = 2; i < argc; i++) {
		const char *a = argv[i];

		if (strcmp(a, "--full") == 0) {
			w.opts.full = true;
		} else if (strcmp(a, "--thorough") == 0) {
			w.opts.looks = thorough = true;
		} else if (strcmp(a, "--first") == 0) {
			w.opts.first = true;
		} else if (strcmp(a, "--stride") == 0 &&
		    number(argv[i + 1], &v) && v > 0) {
			w.opts.stride = (unsigned)v;
			i++;
		} else if (strcmp(a, "--at") == 0 && number(argv[i + 1], &v)) {
			w.opts.at = v;
			i++;
		} else if (strcmp(a, "--jobs") == 0 &&
		    number(argv[i + 1], &v) && v > 0 && v <= JOBS_MAX) {
			jobs = v;
			i++;
		} else if (w.n < JOBS_SCENARIOS &&
		    (w.some[w.n] = scenario_find(a)) != NULL) {
			w.n++;
		} else {
			fprintf(stderr, "step: what is '%s'?\n", a);
			return usage();
		}
	}
#ifndef __x86_64__
	skip_all("the stepper knows x86-64 only");
#endif
	if (strcmp(argv[1], "selftest") == 0) {
		selftest(trial_make(), thorough);
		return done();
	}
	if (strcmp(argv[1], "kill") == 0)
		w.mode = MODE_KILL;
	else if (strcmp(argv[1], "stop") == 0)
		w.mode = MODE_STOP;
	else if (strcmp(argv[1], "double") == 0)
		w.mode = MODE_DOUBLE;
	else if (strcmp(argv[1], "both") == 0)
		w.both = true;	/* after MODE_KILL */
	else
		return usage();
	if (w.mode == MODE_DOUBLE)
		w.opts.looks = thorough = false;
	trace_be_late(thorough);
	places_wanted(!thorough);
	if (scenario_count() > JOBS_SCENARIOS)
		bail_out("more than %d scenarios", JOBS_SCENARIOS);
	if (w.n == 0)
		while (w.n < scenario_count()) {
			w.some[w.n] = scenario_at(w.n);
			w.n++;
		}
	plan(w.n);
	if (jobs == 0)
		jobs = usual_jobs();
	diag("%ld scenarios at a time; tried is %s", jobs, w.opts.full ?
	    "every instruction" : w.mode == MODE_DOUBLE ? "pairs of states" :
	    w.both ? "what kill and stop try" :
	    w.mode == MODE_STOP ? "before and after "
	    "each change of the shared memory, around each system call, and "
	    "a sample of the instructions between" : "after each change of "
	    "the shared memory, and around each system call");
	jobs_run(&w, (int)jobs, one);
	return done();
}
