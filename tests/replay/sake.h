/* SPDX-License-Identifier: MIT */
/*
 * A `run`, whose job this process is, and a circle through it, for g-job-*.c:
 *
 *	main	has a, as a run
 *	B	has b, waits for a (begins last: would give way)
 *	job	waits for b
 */
#ifndef TESTS_REPLAY_SAKE_H
#define TESTS_REPLAY_SAKE_H

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "replay.h"

static struct lh *sake_run, *sake_b;
static struct lh_lease sake_a;

/* The run has a; what is opened from now on is of its job. */
static inline void
sake_begin(const char *table)
{
	char held[256];

	sake_run = replay_open(table, 0);
	sake_b = replay_open(table, 0);
	is(replay_try(sake_run, "a", &sake_a), 0, "a run has a");
	snprintf(held, sizeof(held), "%s:a=%016" PRIx64 "%016" PRIx64, table,
	    sake_a.id[0], sake_a.id[1]);
	setenv("LEASEHOLD_HELD", held, 1);
}

/* As B: 0 if it gets a. */
static inline int
sake_want_a(void *unused)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 5000);
	struct lh_lease a, b;
	int error;

	(void)unused;
	if (replay_try(sake_b, "b", &b) != 0)
		return 1;
	error = lh_acquire(sake_b, "a", &o, &a);
	if (error != 0)
		diag("%s", lh_error_detail());
	else if (lh_release(sake_b, &a) != 0)
		error = 2;
	return lh_release(sake_b, &b) != 0 ? 3 : error;
}

#endif
