/* SPDX-License-Identifier: MIT */
/* Who is at which key, and what is different from before.  See
 * snapshot_diff.c. */
#ifndef TOOLS_SNAPSHOT_DIFF_H
#define TOOLS_SNAPSHOT_DIFF_H

#include "tool.h"

/* One who holds a key or waits for it. */
struct actor {
	char key[KEY_MAX + 1];
	struct lh_party p;	/* rank 0: holds it */
};

/* All of them, by key; then the holders; then the waiters, by session. */
struct scene {
	struct actor *actors;
	size_t n, room;
};

enum change {
	CHANGE_ENDED,		/* holds it no more, for whatever reason */
	CHANGE_LEFT,		/* waits no more, and has not got it */
	CHANGE_ACQUIRED,	/* holds it now */
	CHANGE_CONVERTED,	/* holds it in the other mode */
	CHANGE_RENEWED,		/* holds it for longer */
	CHANGE_QUEUED,		/* waits now */
};

/* One of these happened to `now`; what it was before: `was`, or NULL.  Of who
 * is gone only `was` is there.  Not 0 ends the comparison. */
typedef int (*change_fn)(enum change what, const struct actor *was,
    const struct actor *now, void *arg);

/* Of one key, or (key NULL) of those that begin with prefix.  0; or -errno of
 * lh_list(): then the scene is of no use. */
int scene_look(struct scene *s, struct lh *lh, const char *key,
    const char *prefix);

/* Tell fn what is different, key by key.  0, or what fn returned. */
int scene_compare(const struct scene *before, const struct scene *now,
    change_fn fn, void *arg);

void scene_drop(struct scene *s);

#endif
