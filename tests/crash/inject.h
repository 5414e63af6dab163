/* SPDX-License-Identifier: MIT */
/* Killing and stopping at every point: see inject.c. */
#ifndef CRASH_INJECT_H
#define CRASH_INJECT_H

#include "crash/scenario.h"

struct inject_opts {
	bool full;		/* every instruction, not only the distinct */
	bool looks;		/* around system calls that only look, too */
	unsigned stride;	/* double.c: every stride-th; 0: a sample */
	long at;		/* only the point of that index; -1: all */
	bool first;		/* no further than a finding */
	bool quiet;		/* selftest: findings are what is wanted */
};

struct inject_tally {
	uint32_t instructions, states;	/* of the first recording */
	bool sparse;		/* not instructions, but points (places.c) */
	unsigned points;	/* chosen */
	unsigned tried;		/* killed or stopped there */
	unsigned early;		/* the operation ended without reaching it */
	unsigned failures;	/* points with a finding */
	unsigned blocking;	/* of these, points that delay others */
	unsigned retried;	/* points that were clean the second time */
	int64_t took_ns;
};

/* One scenario.  False: it could not be recorded; diagnostics say why. */
bool inject_kill(struct trial *p, const struct scenario *sc,
    const struct inject_opts *o, struct inject_tally *t);
bool inject_stop(struct trial *p, const struct scenario *sc,
    const struct inject_opts *o, struct inject_tally *t);
/* The first two, of recordings that they have in common. */
bool inject_both(struct trial *p, const struct scenario *sc,
    const struct inject_opts *o, struct inject_tally *killed,
    struct inject_tally *stopped);

#endif
