/* SPDX-License-Identifier: MIT */
/*
 * The checker's part on tokens: answers "can the table's ceilings and floors be
 * what they say?", from the header, and from the ranges on disk where the table
 * has a fence file.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include "fence/range.h"
#include "offline/check_part.h"

bool
lhi_check_wrong(struct check *k, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(k->text, sizeof(k->text), fmt, ap);
	va_end(ap);
	return false;
}

/*
 * True if the latest range is on disk, though not long ago it was not.
 * (Another process has claimed another; this attachment finds out when it
 * needs it.)
 */
static bool
is_range_there(struct lhi_view *v, uint64_t d)
{
	struct lhi_range r;
	uint64_t highest;
	int error = lhi_range_highest(v->ranges, &highest);

	if (error != 0)		/* a directory that is a stranger's, say */
		return false;
	error = lhi_range_read(v->ranges, (d - 1) >> lhi_range_bits, &r);
	return error == -EACCES || (error == 0 && r.uuid[0] == v->uuid[0] &&
	    r.uuid[1] == v->uuid[1]);
}

/*
 * True if d is not the end of a range (or one less, of a table that is being
 * removed), or of one that nobody has claimed yet.
 */
static bool
is_beyond_disk(struct lhi_view *v, uint64_t d)
{
	uint64_t part = d & (lhi_range_width() - 1), highest;

	if (part != 0 && part != lhi_range_width() - 1)
		return true;
	return v->ranges[0] != '\0' &&
	    lhi_range_highest(v->ranges, &highest) == 0 &&
	    (d - 1) >> lhi_range_bits > highest;
}

/* Of the header, and of the disk where this attachment has missed it. */
bool
lhi_check_tokens(struct check *k, uint32_t i)
{
	const struct shm_header *h = k->v->hdr;
	uint64_t d = sh64_load(&h->durable_ceiling);
	uint64_t last = sh64_load(&h->last_token);

	(void)i;
	if ((h->fence_dir[0] != '\0') != (d != 0) ||
	    (d != 0 && (d <= sh64_load(&h->token_base) ||
	    is_beyond_disk(k->v, d))))
		return wrong(k, "the durable ceiling is %llu, which is no end "
		    "of a range above a base of %llu", (unsigned long long)d,
		    (unsigned long long)sh64_load(&h->token_base));
	if (lhi_view_global(k->v) ? last < sh64_load(&h->token_base) ||
	    last >= sh64_load(&h->ceiling) : last != 0)
		return wrong(k, "the last token is outside the table's range "
		    "(%llu)", (unsigned long long)last);
	if (sh64_load(&h->cluster_floor) != 0 &&
	    (sh64_load(&h->cluster_floor) < CLUSTER_FIRST ||
	    sh64_load(&h->cluster_floor) > TOKEN_MAX))
		return wrong(k, "the floor of cluster keys' tokens is none "
		    "(%llu)", (unsigned long long)sh64_load(&h->cluster_floor));
	return !atomic_load(&k->v->ranges_lost) || is_range_there(k->v, d) ||
	    wrong(k, "the latest range "
	    "of tokens is not on disk in %.180s, and no other could be "
	    "claimed", k->v->ranges);
}

bool
lhi_check_shard(struct check *k, uint32_t i)
{
	const struct shm_header *h = k->v->hdr;
	uint64_t floor = sh64_load(&h->floor[i]);

	return (floor >= sh64_load(&h->token_base) &&
	    floor <= sh64_load(&h->ceiling)) || wrong(k, "the token "
	    "floor of shard %u is outside the table's range (%llu)", i,
	    (unsigned long long)floor);
}
