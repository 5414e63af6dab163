/* SPDX-License-Identifier: MIT */
/* Compares the holders and waiters of keys at two moments.  See
 * snapshot_diff.c. */
#ifndef TOOLS_SNAPSHOT_DIFF_H
#define TOOLS_SNAPSHOT_DIFF_H

#include <stddef.h>
#include <leasehold.h>
#include "daemon/text.h"

/* A holder or a waiter of a key. */
struct key_party {
	char key[KEY_MAX + 1];
	struct lh_party p;	/* rank 0: it is a holder */
};

/* All of them, sorted by key; then holders; then waiters, by session. */
struct key_parties {
	struct key_party *parties;
	size_t n, room;
};

enum party_change {
	CHANGE_ENDED,		/* no longer holds it, for any reason */
	CHANGE_LEFT,		/* no longer waits, without a grant */
	CHANGE_ACQUIRED,	/* holds it */
	CHANGE_CONVERTED,	/* holds it in the other mode */
	CHANGE_RENEWED,		/* its deadline is later */
	CHANGE_QUEUED,		/* waits */
};

/* Called for each change with the new state `now` and the old one `was`; either
 * is NULL if it does not exist.  A result other than 0 ends the comparison. */
typedef int (*party_change_fn)(enum party_change what,
    const struct key_party *was, const struct key_party *now, void *arg);

/* Reads the parties of one key, or, if key is NULL, of those that begin with
 * prefix.  Returns 0, or -errno of lh_list(): s is then not usable. */
int snapshot_diff_read(struct key_parties *s, struct lh *lh, const char *key,
    const char *prefix);

/* Calls fn for each difference, key by key. Returns 0, or what fn returned. */
int snapshot_diff_compare(const struct key_parties *before,
    const struct key_parties *now, party_change_fn fn, void *arg);

void snapshot_diff_free(struct key_parties *s);

#endif
