/* SPDX-License-Identifier: MIT */
/* Visits to the tables that are looked after: see visit.c. */
#ifndef REAPER_VISIT_H
#define REAPER_VISIT_H

#include <leasehold/inspect.h>
#include "tables.h"

void visit_configure(const struct conf *conf);

/* The descriptor of table i is readable. */
void visit_wake(uint32_t i);

/* Visit those that are due.  When the next one is (INT64_MAX: none). */
int64_t visit_run(void);

/* What lh_stats() tells of table i; false: it is not looked after. */
bool visit_stats(uint32_t i, struct lh_stats *stats);

#endif
