/* SPDX-License-Identifier: MIT */
/* Who is at which key, and what is different from before.  See
 * snapshot_diff.c. */
#ifndef TOOLS_SNAPSHOT_DIFF_H
#define TOOLS_SNAPSHOT_DIFF_H

#include <stddef.h>
#include <leasehold.h>
#include "daemon/text.h"

/* One who holds a key or waits for it. */
struct key_party {
	char key[KEY_MAX + 1];
	struct lh_party p;	/* rank 0: holds it */
};

/* All of them, by key; then the holders; then the waiters, by session. */
struct key_parties {
	struct key_party *parties;
	size_t n, room;
};

enum party_change {
	CHANGE_ENDED,		/* holds it no more, for whatever reason */
	CHANGE_LEFT,		/* waits no more, and has not got it */
	CHANGE_ACQUIRED,	/* holds it now */
	CHANGE_CONVERTED,	/* holds it in the other mode */
	CHANGE_RENEWED,		/* holds it for longer */
	CHANGE_QUEUED,		/* waits now */
};

/* One of these happened to `now`; what it was before: `was`, or NULL.  Of who
 * is gone only `was` is there.  Not 0 ends the comparison. */
typedef int (*party_change_fn)(enum party_change what,
    const struct key_party *was, const struct key_party *now, void *arg);

/* Of one key, or (key NULL) of those that begin with prefix.  0; or -errno of
 * lh_list(): then s is of no use. */
int snapshot_diff_read(struct key_parties *s, struct lh *lh, const char *key,
    const char *prefix);

/* Tell fn what is different, key by key.  0, or what fn returned. */
int snapshot_diff_compare(const struct key_parties *before,
    const struct key_parties *now, party_change_fn fn, void *arg);

void snapshot_diff_free(struct key_parties *s);

#endif
