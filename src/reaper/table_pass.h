/* SPDX-License-Identifier: MIT */
/* Passes over the tables that the daemon serves: see table_pass.c.
 * reaper_loop.c calls it. */
#ifndef REAPER_TABLE_PASS_H
#define REAPER_TABLE_PASS_H

#include <leasehold/inspect.h>
#include "tables.h"

void table_pass_configure(const struct conf *conf);

/* Handles table i's descriptor, which is readable: its next pass comes soon. */
void table_pass_wake(uint32_t i);

/* Does the passes that are due.  Returns when the next one is due; INT64_MAX:
 * none. */
int64_t table_pass_run_due(void);

/* Reads table i's statistics, as lh_stats() does.  Returns false if it is not
 * served. */
bool table_pass_stats(uint32_t i, struct lh_stats *stats);

#endif
