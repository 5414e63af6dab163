/* SPDX-License-Identifier: MIT */
/*
 * Owners: proves that a file belongs to the user whose number stat(2) shows.
 *
 * In a user namespace the kernel shows every user without a number there under
 * one number, the overflow uid (65534, /proc/sys/kernel/overflowuid).  A user
 * inside may have that number as well, as nobody of a container does, or a
 * process that has no number itself.  So two users with that number need not be
 * the same, and such an owner equals no user until this is proved.
 *
 * The kernel proves it: it lets only the owner, compared by the number in the
 * file system, set O_NOATIME on a descriptor, or a process with CAP_FOWNER in
 * a user namespace in which the owner has a number.  In both cases the number
 * shown is the owner's own.  The flag is removed again.
 *
 * Where each user has a number, as outside of all user namespaces, 65534 is a
 * user as any other.
 *
 * Everything is read each time, because a process may enter another namespace.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include "prim/descriptor.h"
#include "prim/file_owner.h"
#include "prim/id_map.h"

#define OVERFLOW_ID 65534u	/* where the kernel's cannot be read */

static unsigned
read_overflow_id(const char *path)
{
	int fd = lhi_fd_open(path, O_RDONLY | O_CLOEXEC);
	char text[24] = "";
	unsigned id;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 ||
	    sscanf(text, "%u", &id) != 1)
		id = OVERFLOW_ID;
	if (fd >= 0)
		(void)close(fd);
	return id;
}

static bool
add_count(const struct lhi_id_range *r, void *arg)
{
	*(uint64_t *)arg += r->count;
	return true;
}

/* True if each id has a number in this process's user namespace.  The kernel
 * lets no namespace map what the one around it does not, nor an id twice. */
static bool
is_map_full(const char *path)
{
	uint64_t all = 0;

	lhi_id_map_walk(path, add_count, &all);
	return all >= UINT32_MAX;	/* the last number is no id */
}

bool
lhi_has_all_users(void)
{
	int saved = errno;
	bool all = is_map_full("/proc/self/uid_map");

	errno = saved;
	return all;
}

/* True if an id that is shown is no overflow id, or cannot be one here. */
static bool
is_sure(unsigned shown, const char *overflow, const char *map)
{
	int saved = errno;
	bool sure = shown != read_overflow_id(overflow) || is_map_full(map);

	errno = saved;
	return sure;
}

bool
lhi_uid_is_sure(uid_t shown)
{
	return is_sure(shown, "/proc/sys/kernel/overflowuid",
	    "/proc/self/uid_map");
}

bool
lhi_gid_is_sure(gid_t shown)
{
	return is_sure(shown, "/proc/sys/kernel/overflowgid",
	    "/proc/self/gid_map");
}

static bool
proves_owner(int fd)
{
	int saved = errno, flags = fcntl(fd, F_GETFL);
	bool proved = flags >= 0 && fcntl(fd, F_SETFL, flags | O_NOATIME) == 0;

	if (proved)
		(void)fcntl(fd, F_SETFL, flags);
	errno = saved;
	return proved;
}

bool
lhi_owner_is_sure(int fd, const struct stat *st)
{
	return proves_owner(fd) || lhi_uid_is_sure(st->st_uid);
}

bool
lhi_owner_is_sure_at(const char *dir, const struct stat *st)
{
	int saved = errno, fd;
	struct stat now;
	bool sure = lhi_uid_is_sure(st->st_uid);

	if (sure)
		return true;
	fd = lhi_fd_open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0) {
		sure = fstat(fd, &now) == 0 && now.st_dev == st->st_dev &&
		    now.st_ino == st->st_ino && proves_owner(fd);
		(void)close(fd);
	}
	errno = saved;
	return sure;
}

bool
lhi_owner_is_self(int fd, const struct stat *st)
{
	return st->st_uid == geteuid() && lhi_owner_is_sure(fd, st);
}
