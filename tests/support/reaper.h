/* SPDX-License-Identifier: MIT */
/*
 * Reapers: the library's sweep over a table (src/reaper/reap.h), as a daemon
 * would run it, or one pass at a time.
 */
#ifndef TESTS_REAPER_H
#define TESTS_REAPER_H

#include <leasehold.h>
#include "reaper/reap.h"

/* A reaper of that table, or bail out. */
struct lhi_reaper *t_reaper(const char *table);

/* One pass now; what it said.  *next_ns may be NULL. */
int t_pass(struct lhi_reaper *r, int64_t *next_ns);

/* Passes, as often as each asks for the next, for ms. */
void t_reap_for(struct lhi_reaper *r, int64_t ms);

/* A thread that does so until it is ended; what its last pass said, then. */
struct t_reaping;
struct t_reaping *t_reaping(const char *table);
int t_reaping_end(struct t_reaping *rp, struct lhi_reap_counts *counts);

#endif
