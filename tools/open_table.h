/* SPDX-License-Identifier: MIT */
/* Attaches to the table that a verb's options name. See open_table.c. */
#ifndef TOOLS_OPEN_TABLE_H
#define TOOLS_OPEN_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <leasehold.h>

/* The options about the table that every verb takes. */
struct table_opts {
	const char *name;	/* NULL: $LEASEHOLD_TABLE, or "default" */
	bool system;
	bool json;
	bool of_user;		/* user uid's (--uid): it is only looked at */
	uid_t uid;
};

/* Completes the options once they are parsed: a command that `run --system`
 * started uses its table ($LEASEHOLD_SYSTEM), unless it names another one. */
void open_table_inherit(struct table_opts *opts);

/* Attaches.  flags and application are as in lh_open_opts; another user's table
 * is opened without a session (LH_LOOK).  Returns 0, or the error code of
 * lh_open(); prints nothing. */
int open_table(struct lh **lh, const struct table_opts *opts, uint32_t flags,
    const char *application);

/*
 * Attaches to an existing table, to inspect it or to break a lease.  Attaches
 * without a session if it gets none, because all records are in use or their
 * bytes are locked, or if the table is another user's.  Returns as open_table()
 * does.
 */
int open_table_to_look(struct lh **lh, const struct table_opts *opts);

/*
 * Returns the table name that these options mean, for a table that is not open.
 */
const char *open_table_name(const struct table_opts *opts);

/* Prints that there is no such table.  Returns EX_NO. */
int open_table_missing(const struct table_opts *opts);

#endif
