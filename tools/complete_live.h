/* SPDX-License-Identifier: MIT */
/* Lists existing names for completion. See complete_live.c. */
#ifndef TOOLS_COMPLETE_LIVE_H
#define TOOLS_COMPLETE_LIVE_H

#include <stdbool.h>
#include "open_table.h"

/*
 * Each function prints the names that begin with `begun`, one on a line, with
 * `before` in front.  A missing table has no names.  Nothing is created and no
 * error is printed, because the shell is still reading the command line.
 */
/* in_list: print keys in the form of KEY[,KEY...] */
void complete_live_keys(const struct table_opts *table, const char *before,
    const char *begun, bool in_list);
void complete_live_sessions(const struct table_opts *table, const char *begun);
void complete_live_tables(const struct table_opts *table, const char *begun);
/* Prints the numbers of users that have tables. */
void complete_live_users(const char *begun);

#endif
