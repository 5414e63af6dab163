/* SPDX-License-Identifier: MIT */
/* The table whose bits are flipped: see flip_table.c. */
#ifndef TESTS_FLIP_TABLE_H
#define TESTS_FLIP_TABLE_H

#include <leasehold.h>
#include "support/object.h"

#define HOUR_MS INT64_C(3600000)
#define LONG_KEY "a-key-that-is-so-long-that-it-goes-on-in-a-record-of-its-own"

enum kind { PLAIN, DURABLE, CLUSTER, N_KINDS };

/* A table, as it was made, and what is told of a flip. */
struct table {
	enum kind kind;
	const char *name;
	struct t_object o;
	unsigned char *golden;
	char kept[300];		/* another name of the object */
	struct answer {
		char why[400];
		int judged;	/* findings */
	} *answer;		/* in memory that the child shares */
};

/* As it is opened, or made. */
struct lh_open_opts flip_table_opts(enum kind kind);

/* Makes it, and fills it. */
void flip_table_make(struct table *t, enum kind kind);

/* The object under its name again, and as it was made. */
void flip_table_restore(struct table *t);

#endif
