/* SPDX-License-Identifier: MIT */
/* Names that exist now, for completion: see complete_live.c. */
#ifndef TOOLS_COMPLETE_LIVE_H
#define TOOLS_COMPLETE_LIVE_H

#include <stdbool.h>
#include "open_table.h"

/*
 * Each prints the names that begin with `begun`, a line each, after `before`.
 * A table that is not there has none; nothing is made, and no error is told:
 * nobody asked a question.
 */
/* in_list: as they stand in KEY[,KEY...] */
void complete_live_keys(const struct table_opts *table, const char *before,
    const char *begun, bool in_list);
void complete_live_sessions(const struct table_opts *table, const char *begun);
void complete_live_tables(bool system, const char *begun);

#endif
