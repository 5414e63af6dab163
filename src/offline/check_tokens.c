/* SPDX-License-Identifier: MIT */
/*
 * The checker's part on tokens: whether the table's ceilings and floors are
 * possible, by the header, and by the ranges on disk if the table has a fence
 * file.  A fence directory that is lost, or cannot be written to, is no damage
 * to the table: lhi_check_fence() reports it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>
#include <leasehold/error.h>
#include "base/error.h"
#include "fence/range.h"
#include "offline/check.h"
#include "offline/check_part.h"
#include "op/token_ceiling.h"

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
 * True if d is not the end of a range (or one less, of a table that is being
 * removed), or is so far above the ranges on disk that no loss of files
 * explains it.  (A table whose files were lost claims another range.)
 */
static bool
is_no_end(const struct lhi_view *v, uint64_t d)
{
	uint64_t part = d & (lhi_range_width() - 1), highest;

	if (part != 0 && part != lhi_range_width() - 1)
		return true;
	return v->ranges[0] != '\0' &&
	    lhi_range_highest(v->ranges, &highest) == 0 &&
	    (d - 1) >> lhi_range_bits > highest + RANGE_LEAP_MAX;
}

int
lhi_check_fence(const struct lhi_view *v, const char *state)
{
	char why[512];

	if (v->ranges[0] == '\0' || lhi_token_ceiling_is_on_disk(v) ||
	    lhi_range_try(v->ranges) == 0)
		return 0;
	(void)snprintf(why, sizeof(why), "%s", lh_error_detail());
	return lhi_fail(-EIO, "%s is %s: %s", v->path, state, why);
}

int
lhi_check_fence_sound(const struct lhi_view *v)
{
	int error = lhi_check_fence(v, "sound, but acquires in scope local "
	    "fail"), saved = errno;
	char why[512];

	/* a process that may not write the table claims no ranges for it */
	if (error != 0 || v->ranges[0] == '\0' || faccessat(AT_FDCWD, v->path,
	    W_OK, AT_EACCESS) != 0 || lhi_range_may_write(v->ranges) == 0) {
		errno = saved;
		return error;
	}
	(void)snprintf(why, sizeof(why), "%s", lh_error_detail());
	return lhi_fail(-EIO, "%s is sound, but acquires in scope local fail "
	    "when the present range of tokens is used up: %s", v->path, why);
}

/* Checks the header's tokens, as far as the disk shows. */
bool
lhi_check_tokens(struct check *k, uint32_t i)
{
	const struct shm_header *h = k->v->hdr;
	uint64_t d = sh64_load(&h->durable_ceiling);
	uint64_t last = sh64_load(&h->last_token);

	(void)i;
	if ((h->fence_dir[0] != '\0') != (d != 0) ||
	    (d != 0 && (d <= sh64_load(&h->token_base) ||
	    is_no_end(k->v, d))))
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
	return true;
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
