/* SPDX-License-Identifier: MIT */
/*
 * Names the processes that keep bytes of a live file locked, for an operator.
 *
 * A lock of an open file description has no pid (F_OFD_GETLK says -1). But
 * /proc/PID/fdinfo shows the locks of each descriptor of a process, to its user
 * and to root (live_users.c). A session's own lock is not visible there,
 * because its description is kept by a mapping, not by a descriptor
 * (prim/bytelock.h). So the visible locks are those of others, and of removals
 * and repairs.  If no lock is visible, a process that waits for one is named as
 * that.  Those that only have the file mapped use the table, and are most
 * often innocent.  So they are named only if there is just one.
 *
 * Only a hint: no decision depends on it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "offline/live_users.h"
#include "offline/lockers.h"

/* No process that was seen has the file open or mapped. */
static void
name_unseen(char *to, size_t len, const struct lhi_live_users *users)
{
	char names[160];

	lhi_live_users_name(&users->unread, names, sizeof(names));
	if (users->error != 0)
		(void)snprintf(to, len, "a process that could not be looked "
		    "for (%s)", strerror(-users->error));
	else if (users->unread.n == 0)
		(void)snprintf(to, len, "a process that cannot be found: none "
		    "that is seen has it open or mapped");
	else if (users->sees_all)
		(void)snprintf(to, len, "a process that cannot be found, "
		    "perhaps %s, which could not be examined", names);
	else
		(void)snprintf(to, len, "a process that you may not see");
}

void
lhi_lockers_describe(char *to, size_t len, const struct lhi_live_users *users)
{
	char names[160];

	if (users->lockers.n > 0) {
		lhi_live_users_name(&users->lockers, to, len);
		return;
	}
	lhi_live_users_name(&users->waiters, names, sizeof(names));
	if (users->waiters.n > 0) {
		(void)snprintf(to, len, "a process that cannot be "
		    "identified; %s waits for them", names);
		return;
	}
	lhi_live_users_name(&users->mappers, names, sizeof(names));
	if (users->mappers.n == 1)
		(void)snprintf(to, len, "a process that cannot be "
		    "identified, perhaps %s, which alone has the file "
		    "mapped", names);
	else if (users->mappers.n > 0)
		(void)snprintf(to, len, "a process that cannot be "
		    "identified (%u have the file mapped)", users->mappers.n);
	else
		name_unseen(to, len, users);
}

static void
look_and_describe(char *to, size_t len, int fd, bool apart)
{
	struct lhi_live_users *users = lhi_live_users_scan(fd, apart);

	if (users != NULL)
		lhi_lockers_describe(to, len, users);
	else
		(void)snprintf(to, len, "a process that was not looked for: "
		    "out of memory");
	free(users);
}

void
lhi_lockers_name(char *to, size_t len, int fd)
{
	look_and_describe(to, len, fd, false);
}

void
lhi_lockers_name_apart(char *to, size_t len, int fd)
{
	look_and_describe(to, len, fd, true);
}
