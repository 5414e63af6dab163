/* SPDX-License-Identifier: MIT */
/* What `leasehold log` asks the flight recorder for.  See log_query.c. */
#ifndef TOOLS_LOG_QUERY_H
#define TOOLS_LOG_QUERY_H

#include <stdbool.h>
#include <stdint.h>
#include <leasehold.h>
#include "open_table.h"

struct log_opts {
	struct table_opts table;
	const char *file;	/* NULL: a table */
	const char *key;	/* NULL: of all */
	int64_t since_ms;	/* before now; -1: all */
	const char *at;		/* who held it then; NULL: not asked */
	int grants;		/* 1 on, 0 off, -1 not asked */
	bool follow;
};

/* Returns the library's options for these. */
struct lh_log_opts log_query(const struct log_opts *o);

/* Prints the error of the library that it led to.  Returns the exit status. */
int log_query_error(const struct log_opts *o, int error);

#endif
