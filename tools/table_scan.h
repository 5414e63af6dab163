/* SPDX-License-Identifier: MIT */
/* Finds the tables of the machine, and looks at each.  See table_scan.c. */
#ifndef TOOLS_TABLE_SCAN_H
#define TOOLS_TABLE_SCAN_H

#include <stdbool.h>
#include <sys/types.h>
#include <jansson.h>

/* Limits the tables that are looked at. */
struct table_scan {
	const char *name;	/* of that name; NULL: of any */
	bool system;		/* only the machine's */
	bool of_user;		/* only those of user `uid` */
	uid_t uid;
};

/*
 * Returns an array with an object for each table, in the order of directories
 * and names; leasehold-tables(1) lists the members.  NULL: out of memory, or
 * (after a message) the tables cannot be listed; *status is the exit status
 * then.
 */
json_t *table_scan(const struct table_scan *scan, int *status);

#endif
