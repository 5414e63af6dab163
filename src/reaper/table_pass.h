/* SPDX-License-Identifier: MIT */
/* Visits to the tables that are looked after: see table_pass.c. */
#ifndef REAPER_TABLE_PASS_H
#define REAPER_TABLE_PASS_H

#include <leasehold/inspect.h>
#include "tables.h"

void table_pass_configure(const struct conf *conf);

/* The descriptor of table i is readable. */
void table_pass_wake(uint32_t i);

/* Visit those that are due.  When the next one is (INT64_MAX: none). */
int64_t table_pass_run_due(void);

/* What lh_stats() tells of table i; false: it is not looked after. */
bool table_pass_stats(uint32_t i, struct lh_stats *stats);

#endif
