/* SPDX-License-Identifier: MIT */
/*
 * step: kills and stops every operation at every instruction.
 *
 *	step kill [SCENARIO...] [--full] [--into] [--at N]
 *	step stop [SCENARIO...] [--full] [--into] [--at N]
 *	step double [SCENARIO...] [--stride N]
 *	step list
 *	step selftest
 *
 * TAP, one line a scenario.  --full tries every instruction instead of every
 * distinct state, --into those of liburcu-cds as well, which are otherwise
 * stepped over (trace.c); --at N only instruction N (that of a diagnostic: the
 * number is stable enough to come back to a finding); --stride N in double
 * takes every N-th point of both crashes instead of a sample (1: all pairs).
 *
 * What is tried and how is told in drive.c, what is looked at afterwards in
 * checker.c and server.c, the scenarios are in scenario.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "crash/drive.h"
#include "crash/selftest.h"
#include "tap.h"

static int
usage(void)
{
	fprintf(stderr, "usage: step kill|stop|double [SCENARIO...] [--full] "
	    "[--into]\n       [--stride N] [--at N]\n"
	    "       step list | selftest\n");
	return 64;
}

static int
list(void)
{
	for (int i = 0; i < scenario_count(); i++)
		printf("%-24s %s\n", scenario_at(i)->name,
		    scenario_at(i)->what);
	return 0;
}

static void
one(struct play *p, const struct scenario *sc, enum play_mode mode,
    const struct drive_opts *o)
{
	static const char *const verbs[] = { "kill", "stop", "double" };
	static bool (*const drives[])(struct play *,
	    const struct scenario *, const struct drive_opts *,
	    struct drive_tally *) = { drive_kill, drive_stop, drive_double };
	const char *verb = verbs[mode];
	char text[300], extra[100] = "";
	struct drive_tally t;

	if (!drives[mode](p, sc, o, &t)) {
		fail("%s %s", verb, sc->name);
		return;
	}
	if (t.early > 0)
		snprintf(extra, sizeof(extra), ", %u ended early", t.early);
	if (t.retried > 0)
		snprintf(extra + strlen(extra), sizeof(extra) - strlen(extra),
		    ", %u retried", t.retried);
	switch (mode) {
	case MODE_KILL:
		snprintf(text, sizeof(text), "%u instructions, %u distinct "
		    "states, %u killed, %u failures", t.instructions, t.states,
		    t.tried, t.failures);
		break;
	case MODE_STOP:
		snprintf(text, sizeof(text), "%u instructions, %u distinct "
		    "states, %u stopped, %u that block others, %u other "
		    "failures", t.instructions, t.states, t.tried, t.blocking,
		    t.failures - t.blocking);
		break;
	case MODE_DOUBLE:
		snprintf(text, sizeof(text), "%u distinct states, %u pairs of "
		    "kills, %u failures", t.states, t.tried, t.failures);
		break;
	}
	ok(t.failures == 0 && t.tried > 0 && t.tried + t.early == t.points,
	    "%s %s: %s%s, %.1f s", verb, sc->name, text, extra,
	    (double)t.took_ns / 1e9);
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
	struct drive_opts o = { .at = -1 };
	const struct scenario *some[128];
	enum play_mode mode;
	struct play *p;
	bool into = false;
	int n = 0;
	long v;

	if (argc < 2)
		return usage();
	if (strcmp(argv[1], "list") == 0)
		return list();
	for (int i = 2; i < argc; i++) {
		const char *a = argv[i];

		if (strcmp(a, "--full") == 0) {
			o.full = true;
		} else if (strcmp(a, "--into") == 0) {
			into = true;
		} else if (strcmp(a, "--stride") == 0 &&
		    number(argv[i + 1], &v) && v > 0) {
			o.stride = (unsigned)v;
			i++;
		} else if (strcmp(a, "--at") == 0 && number(argv[i + 1], &v)) {
			o.at = v;
			i++;
		} else if (n < 128 && (some[n] = scenario_find(a)) != NULL) {
			n++;
		} else {
			fprintf(stderr, "step: what is '%s'?\n", a);
			return usage();
		}
	}
#ifndef __x86_64__
	skip_all("the stepper knows x86-64 only");
#endif
	if (strcmp(argv[1], "selftest") == 0) {
		selftest(play_make());
		return done();
	}
	if (strcmp(argv[1], "kill") == 0)
		mode = MODE_KILL;
	else if (strcmp(argv[1], "stop") == 0)
		mode = MODE_STOP;
	else if (strcmp(argv[1], "double") == 0)
		mode = MODE_DOUBLE;
	else
		return usage();
	p = play_make();
	trace_step_into(into);
	if (n == 0)
		while (n < scenario_count()) {
			some[n] = scenario_at(n);
			n++;
		}
	plan(n);
	for (int i = 0; i < n; i++)
		one(p, some[i], mode, &o);
	return done();
}
