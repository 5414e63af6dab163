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
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "prim/descriptor.h"
#include "shm/outer_uid.h"

#define RANGES_MAX 340		/* the kernel's limit */

uid_t
lhi_outer_uid(uid_t inside)
{
	int saved = errno, fd = lhi_fd_open("/proc/self/uid_map", O_RDONLY |
	    O_CLOEXEC);
	FILE *map = fd < 0 ? NULL : fdopen(fd, "r");
	unsigned from, to, count;
	uid_t outside = inside;

	for (int i = 0; map != NULL && i < RANGES_MAX &&
	    fscanf(map, "%u %u %u", &from, &to, &count) == 3; i++) {
		if (inside < from || inside - from >= count)
			continue;
		outside = to + (inside - from);
		break;
	}
	if (map != NULL)
		(void)fclose(map);
	else if (fd >= 0)
		(void)close(fd);
	errno = saved;
	return outside;
}
