/* SPDX-License-Identifier: MIT */
/* The table whose bits are flipped: see flip_table.c. */
#ifndef TESTS_FLIP_TABLE_H
#define TESTS_FLIP_TABLE_H

#include <leasehold.h>
#include "support/object.h"

#define HOUR_MS INT64_C(3600000)
#define LONG_KEY "a-key-that-is-so-long-that-it-goes-on-in-a-record-of-its-own"

enum kind { PLAIN, DURABLE, CLUSTER, N_KINDS };

#define BATCH 64		/* flips that one process tries */

/* A table as it was made, and the results of flips that are reported. */
struct table {
	enum kind kind;
	const char *name;
	struct t_object o;
	unsigned char *golden;
	char kept[300];		/* another name of the object */
	struct answer {
		char why[400];	/* the flip after those was bad */
		size_t tried;	/* flips that were not bad */
		int judged[BATCH];	/* findings, of each */
	} *answer;		/* in memory that the child shares */
};

/* As it is opened, or made. */
struct lh_open_opts flip_table_opts(enum kind kind);

/* Makes it, and fills it. */
void flip_table_make(struct table *t, enum kind kind);

/* The object under its name again, and as it was made. */
void flip_table_restore(struct table *t);

#endif
