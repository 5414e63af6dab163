/* SPDX-License-Identifier: MIT */
/*
 * User namespaces: answers "which number has a user outside of this one?"
 *
 * A user's tables, and the second signs of life, are in a directory that has
 * the user's number in its name.  All user namespaces may share /dev/shm, and
 * user 0 of a container is another user than the host's.  If the name had the
 * number as it is inside, the first of them would keep all others out.  So the
 * name has the number outside, from /proc/self/uid_map.  The host's user of
 * that number is the same user for the file system.
 *
 * Within nested namespaces the number is that of the next one outside.  Two
 * such users may then share a name; the second one is refused, because the
 * directory has another owner (table_dir.c).
 *
 * The map is read each time, because a process may enter another namespace.
 */
#include <errno.h>
#include "prim/id_map.h"
#include "shm/outer_uid.h"

struct sought {
	uid_t inside, outside;
};

static bool
find(const struct lhi_id_range *r, void *arg)
{
	struct sought *s = arg;

	if (s->inside < r->inside || s->inside - r->inside >= r->count)
		return true;
	s->outside = (uid_t)(r->outside + (s->inside - r->inside));
	return false;
}

uid_t
lhi_outer_uid(uid_t inside)
{
	struct sought s = { inside, inside };
	int saved = errno;

	lhi_id_map_walk("/proc/self/uid_map", find, &s);
	errno = saved;
	return s.outside;
}
