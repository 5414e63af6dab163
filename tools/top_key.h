/* SPDX-License-Identifier: MIT */
/* One key of `leasehold top`, with its holders and waiters: see top_key.c. */
#ifndef TOOLS_TOP_KEY_H
#define TOOLS_TOP_KEY_H

#include <stddef.h>
#include <leasehold.h>

/* Begins as { 0 }. */
struct top_key {
	char *text;		/* lines; NULL: not read yet */
	size_t len;
};

/* Reads the key anew.  Returns 0 or -errno. */
int top_key_read(struct top_key *k, struct lh *lh, const char *key);
void top_key_free(struct top_key *k);

#endif
