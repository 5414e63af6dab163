/* SPDX-License-Identifier: MIT */
/* The calls of image.c, by number. */
#ifndef FUZZ_IMAGE_CALLS_H
#define FUZZ_IMAGE_CALLS_H

#include <stddef.h>
#include <stdint.h>
#include <leasehold.h>

#define STEPS	UINT64_C(20000000)	/* that a call may make */

/* The table of this input. */
struct image_table {
	char name[64], path[128], floor[128];
	unsigned flags;
	char *bytes;		/* the copy, or the mapped object */
	size_t mapped;		/* 0: it is the copy */
	struct lh *lh;
	struct lh_key *key;
	struct lh_lease lease;
};

extern struct image_table t;
extern const unsigned image_n_calls;

/* One of them (modulo their number); n says with which key, and how. */
void image_call(unsigned which, unsigned n);

/* Of the table, or of that file. */
void image_dump(const char *file);

/* lh_open(), but never a new table in its place. */
int image_open(struct lh **lh);
void image_close(void);

#endif
