/* SPDX-License-Identifier: MIT */
/*
 * Where the tokens of a new table begin.
 *
 * Without a fence file: at the floor that removed tables of its name have left
 * (table_remove.c).  With one: at a range that nobody has had, claimed on disk
 * before the object has its name (range.c), above that floor, and above the
 * wall clock's: as many ranges as there were hours since 2024, and a quarter of
 * one in this hour.  The last one is for the day when memory and disk are both
 * lost, or an old disk is put back: then the clock still says more than the
 * counter did, unless tables of that name had used up more than a range an
 * hour, counted from 2024, or in this very hour more than 2^30 tokens of a key.
 *
 * A claim may be old when the object gets its name at last (its maker was
 * stopped, and others made and lost a table meanwhile).  So nobody who opens a
 * table goes by its range before he has seen that none is above it
 * (op/token_ceiling.c, I4).
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

/* The default fence directory. */
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
		return lhi_fail(-EINVAL, "neither XDG_STATE_HOME nor HOME says "
		    "where fence files should be: give a fence directory");
	return n < (int)FENCE_DIR_MAX ? 0 : lhi_fail(-ENAMETOOLONG, "the path "
	    "of the usual fence directory is longer than %u bytes: give "
	    "another", FENCE_DIR_MAX - 1);
}

static int
choose_dir(char to[FENCE_DIR_MAX], const struct lh_open_opts *o)
{
	if (o->fence_dir == NULL)
		return default_dir(to, o->flags & LH_SYSTEM);
	if (o->fence_dir[0] != '/')
		return lhi_fail(-EINVAL, "'%s' is no fence directory: give its "
		    "absolute path", o->fence_dir);
	return strlcpy(to, o->fence_dir, FENCE_DIR_MAX) < FENCE_DIR_MAX ? 0 :
	    lhi_fail(-ENAMETOOLONG, "the path of the fence directory is longer "
	    "than %u bytes: give another", FENCE_DIR_MAX - 1);
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
