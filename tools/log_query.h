/* SPDX-License-Identifier: MIT */
/* The query of `leasehold log` to the flight recorder. See log_query.c. */
#ifndef TOOLS_LOG_QUERY_H
#define TOOLS_LOG_QUERY_H

#include <stdbool.h>
#include <stdint.h>
#include <leasehold.h>
#include "open_table.h"

/* An event is recorded no later than that after its time. */
#define LOG_LATE_MS 2000

struct log_opts {
	struct table_opts table;
	const char *file;	/* NULL: a table */
	const char *key;	/* NULL: all keys */
	int64_t since_ms;	/* how long ago at most; -1: any time */
	const char *at;		/* who held the key at that time; NULL:
				 * events */
	int grants;		/* 1 record them, 0 do not, -1 leave it */
	bool follow;
};

/* Returns the library's options for this query. */
struct lh_log_opts log_query(const struct log_opts *o);

/* Warns if the times of the events are not known exactly. */
void log_query_warn(const struct log_opts *o);

/* Prints an error of the library about this query. Returns the exit status. */
int log_query_error(const struct log_opts *o, int error);

#endif
