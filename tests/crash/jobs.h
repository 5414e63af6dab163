/* SPDX-License-Identifier: MIT */
/* Several scenarios at a time: see jobs.c. */
#ifndef CRASH_JOBS_H
#define CRASH_JOBS_H

#include "crash/inject.h"

#define JOBS_MAX 32
#define JOBS_SCENARIOS 1000

struct work {
	enum trial_mode mode;
	bool both;		/* MODE_KILL, then MODE_STOP */
	struct inject_opts opts;
	const struct scenario *some[JOBS_SCENARIOS];
	int n;
};

/* Try scenario i; whether it is well, and a line that says what was tried. */
typedef bool job_fn(struct trial *p, struct work *w, int i, char *line,
    size_t size);

/* A test line for each of w, in that order. */
void jobs_run(struct work *w, int jobs, job_fn *fn);

#endif
