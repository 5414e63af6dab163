/* SPDX-License-Identifier: MIT */
/* Killing and stopping at every point: see inject.c. */
#ifndef CRASH_INJECT_H
#define CRASH_INJECT_H

#include "crash/scenario.h"

struct drive_opts {
	bool full;		/* every instruction, not only the distinct */
	unsigned stride;	/* double: every stride-th; 0: a sample */
	long at;		/* only the point of that index; -1: all */
	bool quiet;		/* selftest: findings are what is wanted */
};

struct drive_tally {
	uint32_t instructions, states;	/* of the first recording */
	unsigned points;	/* chosen */
	unsigned tried;		/* killed or stopped there */
	unsigned early;		/* the operation ended without coming by */
	unsigned failures;	/* points with a finding */
	unsigned blocking;	/* of these, points that delay others */
	unsigned retried;	/* points that were clean the second time */
	int64_t took_ns;
};

/* One scenario.  False: it could not be recorded; diagnostics say why. */
bool drive_kill(struct play *p, const struct scenario *sc,
    const struct drive_opts *o, struct drive_tally *t);
bool drive_stop(struct play *p, const struct scenario *sc,
    const struct drive_opts *o, struct drive_tally *t);
bool drive_double(struct play *p, const struct scenario *sc,
    const struct drive_opts *o, struct drive_tally *t);

#endif
