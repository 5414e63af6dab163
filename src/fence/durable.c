/* SPDX-License-Identifier: MIT */
/*
 * Chooses where the tokens of a new table begin.  table_make.c calls it.
 *
 * Without fence files, they begin at the floor that removed tables of its name
 * have left (table_remove.c).  With fence files, they begin at a range of
 * tokens that nobody has had.  It is claimed on disk (range.c) before the
 * object gets its name.  The range is above the floor and above the wall
 * clock's position: one range for each hour since 2024, and a quarter of a
 * range within the current hour.
 *
 * The clock protects against the loss of both memory and disk, and against an
 * old disk that is put back.  The clock's position is then still above the
 * counter's, with two exceptions:
 *
 *	- Tables of that name used more than one range an hour.  Each making of
 *	  a table uses one.  A table that was made twice within the hour is not
 *	  protected until the next hour has begun.
 *	- They used more than 2^30 tokens of a key within the current hour.
 *
 * A claimed range may be old when the object finally gets its name: its maker
 * was stopped, and others made and lost a table in the meantime.  So a process
 * that opens a table uses its range only after it has checked that no claimed
 * range is above it (op/token_ceiling.c, I4).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <bsd/string.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "fence/durable.h"

#define SYSTEM_DIR	"/var/lib/leasehold"
#define EPOCH_S		INT64_C(1704067200)	/* 2024-01-01 00:00 UTC */
#define HOUR_MS		UINT64_C(3600000)
#define DEFAULT_PARENTS	4	/* .local/state/leasehold/X.fence, at most */
#define CHOSEN_PARENTS	1

static bool
is_set(const char *value)
{
	return value != NULL && *value != '\0';
}

/* Writes the path of the default fence directory. */
static int
default_dir(char to[FENCE_DIR_MAX], bool system_wide)
{
	const char *state = secure_getenv("XDG_STATE_HOME");
	const char *home = secure_getenv("HOME");
	int n;

	if (system_wide)
		n = snprintf(to, FENCE_DIR_MAX, "%s", SYSTEM_DIR);
	else if (state != NULL && state[0] == '/')
		n = snprintf(to, FENCE_DIR_MAX, "%s/leasehold", state);
	else if (home != NULL && home[0] == '/')
		n = snprintf(to, FENCE_DIR_MAX, "%s/.local/state/leasehold",
		    home);
	else
		return lhi_fail(-EINVAL, "cannot choose a fence directory, "
		    "because neither XDG_STATE_HOME nor HOME is set%s; name a "
		    "fence directory", is_set(state) || is_set(home) ?
		    " to an absolute path" : "");
	return n < (int)FENCE_DIR_MAX ? 0 : lhi_fail(-ENAMETOOLONG, "the path "
	    "of the default fence directory has more than %u bytes; name "
	    "another one", FENCE_DIR_MAX - 1);
}

static int
choose_dir(char to[FENCE_DIR_MAX], const struct lh_open_opts *o)
{
	if (o->fence_dir == NULL)
		return default_dir(to, o->flags & LH_SYSTEM);
	if (o->fence_dir[0] != '/')
		return lhi_fail(-EINVAL, "fence directory '%s' is not an "
		    "absolute path", o->fence_dir);
	return strlcpy(to, o->fence_dir, FENCE_DIR_MAX) < FENCE_DIR_MAX ? 0 :
	    lhi_fail(-ENAMETOOLONG, "the path of the fence directory has more "
	    "than %u bytes; name another one", FENCE_DIR_MAX - 1);
}

uint64_t
lhi_durable_clock(void)
{
	uint64_t width = lhi_range_width(), ms;
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (now.tv_sec < EPOCH_S)
		return 0;
	ms = (uint64_t)(now.tv_sec - EPOCH_S) * 1000 +
	    (uint64_t)(now.tv_nsec / NS_PER_MS);
	return ms / HOUR_MS * width + ms % HOUR_MS * (width / 4) / HOUR_MS;
}

int
lhi_durable_begin(const char *path, const struct lh_open_opts *o,
    uint64_t floor, struct lhi_beginning *b)
{
	uint64_t width = lhi_range_width(), n;
	uint64_t clock = o->flags & LH_NO_CLOCK_FLOOR ? 0 : lhi_durable_clock();
	uint64_t least = (floor + width - 1) / width;
	char dir[RANGE_PATH_MAX];
	gid_t group = (gid_t)-1;
	int error;

	memset(b, 0, sizeof(*b));
	error = lhi_random_fill(&b->uuid, sizeof(b->uuid));
	if (error != 0)
		return error;
	b->base = floor;
	b->end = floor + width;
	if (o->fence_dir == NULL && !(o->flags & (LH_DURABLE | LH_ALL_LOCAL)))
		return 0;
	if (o->mode & S_IWGRP)
		group = o->group == LH_GROUP_USUAL ? getegid() : o->group;
	error = choose_dir(b->fence_dir, o);
	if (error == 0)
		error = lhi_range_dir(dir, b->fence_dir, path);
	if (error == 0)
		error = lhi_range_make_dir(dir, group, o->fence_dir == NULL ?
		    DEFAULT_PARENTS : CHOSEN_PARENTS);
	if (error == 0)
		error = lhi_range_claim(dir, b->uuid, clock / width > least ?
		    clock / width : least, &n);
	if (error != 0)
		return error;
	b->base = n * width > clock ? n * width : clock;
	b->end = (n + 1) * width;
	return 0;
}
