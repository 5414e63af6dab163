/* SPDX-License-Identifier: MIT */
/* The table that a verb's options name.  See open_table.c. */
#ifndef TOOLS_OPEN_TABLE_H
#define TOOLS_OPEN_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <leasehold.h>

/* What every verb takes. */
struct table_opts {
	const char *name;	/* NULL: $LEASEHOLD_TABLE, or "default" */
	bool system;
	bool json;
};

/* Once the options are read: a command that was started by `run --system` asks
 * its table ($LEASEHOLD_SYSTEM), unless it names another one. */
void open_table_inherit(struct table_opts *opts);

/*
 * Attaches.  flags and application are as in lh_open_opts.  Returns 0, or the
 * error code of lh_open(); it prints nothing.
 */
int open_table(struct lh **lh, const struct table_opts *opts, uint32_t flags,
    const char *application);

/*
 * Attaches to a table that exists, to look at it or to break a lease.  If it
 * gets no session, because all records are in use or somebody has locked their
 * bytes, attaches without one.  Returns as open_table().
 */
int open_table_to_look(struct lh **lh, const struct table_opts *opts);

/* Returns the name that these options mean, for a table that is not open. */
const char *open_table_name(const struct table_opts *opts);

/* Prints that there is no such table.  Returns EX_NO. */
int open_table_missing(const struct table_opts *opts);

#endif
