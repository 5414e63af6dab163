/* SPDX-License-Identifier: MIT */
/*
 * Permission to use a table: answers "why may I not, and who can change that?".
 *
 * It is asked only after the kernel has refused, so it decides nothing.  The
 * object's owner, group and mode say whom the kernel admits.  Names of users
 * and groups are read from /etc/passwd and /etc/group themselves, as
 * table_conf.c does; a directory service may be slow, or away.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bsd/string.h>
#include "base/error.h"
#include "prim/descriptor.h"
#include "prim/file_owner.h"
#include "shm/table_access.h"
#include "shm/table_conf.h"
#include "shm/table_dir.h"

#define WHO_MAX 96		/* "user 4711 (worker)" */

/* The object's permissions. */
struct access {
	const char *path;
	char name[TABLE_LEAF_MAX];	/* of the table */
	char owner[WHO_MAX], group[WHO_MAX], me[WHO_MAX];
	mode_t mode, wanted;	/* permission bits; 6 or 4 */
	bool system;
};

/* Writes "user 4711 (worker)", or without the name where `file` has none. */
static void
describe_id(char to[WHO_MAX], const char *kind, const char *file, unsigned id)
{
	int fd = lhi_fd_open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0;

	(void)snprintf(to, WHO_MAX, "%s %u", kind, id);
	if (f == NULL && fd >= 0)
		(void)close(fd);
	while (f != NULL && getline(&line, &room, f) > 0) {
		char *rest = line, *name = strsep(&rest, ":"), *number, *end;

		(void)strsep(&rest, ":");
		number = strsep(&rest, ":");
		if (number == NULL || *number == '\0' ||
		    strtoul(number, &end, 10) != id || *end != '\0')
			continue;
		(void)snprintf(to, WHO_MAX, "%s %u (%.40s)", kind, id, name);
		break;
	}
	free(line);
	if (f != NULL)
		(void)fclose(f);
}

static bool
is_member(gid_t group)
{
	gid_t *list;
	int n = getgroups(0, NULL);
	bool found = getegid() == group;

	list = n > 0 ? calloc((size_t)n, sizeof(*list)) : NULL;
	n = list != NULL ? getgroups(n, list) : 0;
	for (int i = 0; i < n; i++)
		found |= list[i] == group;
	free(list);
	return found;
}

/* The group is admitted, and this user is not in it. */
static int
fail_not_member(const struct access *a)
{
	return lhi_fail(-EACCES, "%s belongs to %s and %s, with mode %03o, so "
	    "only that user and that group may use it, and %s is not in the "
	    "group; let root add the user (usermod -a -G GROUP USER) and log "
	    "in again", a->path, a->owner, a->group, (unsigned)a->mode, a->me);
}

/* Neither group nor others are admitted. */
static int
fail_owner_only(const struct access *a)
{
	if (a->system)
		return lhi_fail(-EACCES, "%s belongs to %s, with mode %03o, so "
		    "only that user may %s it, and you are %s; let root write "
		    "a section [table %s] with group and mode = 660 in "
		    TABLE_CONF ", remove the table (leasehold rm --system "
		    "--table %s) and make it again (leasehold init --system "
		    "--configured --table %s), or use a table of your own "
		    "(without --system)", a->path, a->owner, (unsigned)a->mode,
		    a->wanted == 4 ? "read" : "use", a->me, a->name, a->name,
		    a->name);
	return lhi_fail(-EACCES, "%s belongs to %s, with mode %03o, so %s may "
	    "not %s it; let its owner change that (chmod)", a->path, a->owner,
	    (unsigned)a->mode, a->me, a->wanted == 4 ? "read" : "use");
}

int
lhi_table_access_fail(int dir, const char *leaf, const char *path,
    bool to_write)
{
	struct access a = { .path = path, .wanted = to_write ? 6 : 4,
	    .system = lhi_table_dir_is_system(path) };
	struct stat st;

	if (fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return lhi_fail(-EACCES, "no permission to open %s for reading"
		    "%s", path, to_write ? " and writing" : "");
	lhi_table_dir_beside(a.name, path, "");
	describe_id(a.owner, "user", "/etc/passwd", st.st_uid);
	describe_id(a.group, "group", "/etc/group", st.st_gid);
	describe_id(a.me, "user", "/etc/passwd", geteuid());
	a.mode = st.st_mode & 0777;
	/* (a table that is not the machine's stands in our own directory) */
	if (a.system && (!lhi_uid_is_sure(st.st_uid) ||
	    !lhi_gid_is_sure(st.st_gid)))
		return lhi_fail(-EACCES, "%s belongs to %s and %s, with mode "
		    "%03o, and %s may not use it; in this user namespace that "
		    "number is each user and group without a number here, so "
		    "map its owner and group here (/etc/subuid, /etc/subgid)",
		    path, a.owner, a.group, (unsigned)a.mode, a.me);
	if (st.st_uid == geteuid() && (a.mode >> 6 & a.wanted) != a.wanted)
		return lhi_fail(-EACCES, "%s is yours, but its mode %03o does "
		    "not let you use it; chmod u+rw %s", path,
		    (unsigned)a.mode, path);
	if (st.st_uid != geteuid() && !is_member(st.st_gid) &&
	    (a.mode & a.wanted) != a.wanted)
		return (a.mode >> 3 & a.wanted) == a.wanted ?
		    fail_not_member(&a) : fail_owner_only(&a);
	if (st.st_uid != geteuid() && is_member(st.st_gid) &&
	    (a.mode >> 3 & a.wanted) != a.wanted)
		return fail_owner_only(&a);
	return lhi_fail(-EACCES, "no permission to open %s for reading%s, "
	    "though its owner, group and mode (%s, %s, %03o) admit %s; an "
	    "access list or a security module refuses it", path,
	    to_write ? " and writing" : "", a.owner, a.group, (unsigned)a.mode,
	    a.me);
}

int
lhi_table_access_fail_missing(const char *path)
{
	struct lhi_table_conf c;
	char name[TABLE_LEAF_MAX];

	lhi_table_dir_beside(name, path, "");
	if (lhi_table_conf_find(path, &c) == 0 && c.found)
		return lhi_fail(-EACCES, "there is no table %s, and only root "
		    "can make it; let root run 'leasehold init --system "
		    "--configured --table %s'", path, name);
	return lhi_fail(-EACCES, "there is no table %s, and only root can make "
	    "it, for root alone if nothing else is said; let root run "
	    "'leasehold init --system --table %s --group GROUP --mode 660', "
	    "where GROUP is the group that is to use it, or use a table of "
	    "your own (without --system)", path, name);
}
