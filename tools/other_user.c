/* SPDX-License-Identifier: MIT */
/*
 * Lets root look at another user's tables: with `--uid N` the command becomes
 * that user before it opens anything, for good.
 *
 * It does not open the tables as root, because a user can put anything into
 * them, and into the files that they name.  As that user the command can read
 * what the user can, and nothing else.  It only looks (open_table.c), so it
 * needs no right that the user lacks.
 *
 * It has no other groups than the user's own one.  Once it has changed its
 * user, the kernel lets the user neither trace it nor read its memory.  The
 * user may stop or end it.
 *
 * Names of users are read from /etc/passwd itself, as the library does
 * (shm/table_access.c): a directory service may be slow, or away.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "daemon/exit_status.h"
#include "message.h"
#include "other_user.h"

#define NO_GROUP ((gid_t)65534)

/* Finds the user's entry.  Returns false if there is none. */
static bool
find_entry(uid_t uid, char name[USER_NAME_MAX], gid_t *group)
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *p;

	while (f != NULL && (p = fgetpwent(f)) != NULL) {
		if (p->pw_uid != uid)
			continue;
		(void)snprintf(name, USER_NAME_MAX, "%s", p->pw_name);
		*group = p->pw_gid;
		(void)fclose(f);
		return true;
	}
	if (f != NULL)
		(void)fclose(f);
	return false;
}

const char *
other_user_name(char buf[USER_NAME_MAX], uid_t uid)
{
	gid_t group;

	buf[0] = '\0';
	(void)find_entry(uid, buf, &group);
	return buf;
}

int
other_user_switch(uid_t uid)
{
	char name[USER_NAME_MAX];
	gid_t group = NO_GROUP;

	if (geteuid() == uid)
		return 0;
	if (geteuid() != 0)
		return -EPERM;
	(void)find_entry(uid, name, &group);
	if (setgroups(0, NULL) != 0 || setresgid(group, group, group) != 0 ||
	    setresuid(uid, uid, uid) != 0)
		return -errno;
	return 0;
}

int
other_user_become(uid_t uid)
{
	uid_t was = geteuid();
	int e = other_user_switch(uid);

	if (e == 0 && was != uid)
		message_as_user((unsigned)uid);
	if (e == 0)
		return 0;
	if (geteuid() != 0)
		message("--uid %u: only root and that user may look at the "
		    "tables of user %u; run it as root (sudo)", (unsigned)uid,
		    (unsigned)uid);
	else if (e == -EINVAL)
		message("--uid %u: no user has that number in this user "
		    "namespace: look outside of the namespace", (unsigned)uid);
	else
		message("--uid %u: cannot become that user: %s", (unsigned)uid,
		    strerror(-e));
	return EX_DENIED;
}
