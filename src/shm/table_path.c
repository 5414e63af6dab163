/* SPDX-License-Identifier: MIT */
/* From a table's name to its object's path. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <leasehold/table.h>
#include "base/error.h"
#include "shm/outer_uid.h"
#include "shm/table_object.h"

#define NAME_LEN_MAX 64
#define PREFIX "/dev/shm/leasehold."

const char *
lhi_object_name(const char *name)
{
	if (name != NULL)
		return name;
	name = secure_getenv("LEASEHOLD_TABLE");
	return name == NULL || *name == '\0' ? "default" : name;
}

bool
lhi_object_is_system(const char *name, uint32_t flags)
{
	const char *system;

	if (name != NULL || (flags & LH_SYSTEM))
		return flags & LH_SYSTEM;
	system = secure_getenv("LEASEHOLD_SYSTEM");
	return system != NULL && strcmp(system, "1") == 0;
}

int
lhi_object_path(char *path, size_t len, const char *name, bool system_wide)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t n = strnlen(name, NAME_LEN_MAX + 1);

	if (n > NAME_LEN_MAX)
		return lhi_fail(-ENAMETOOLONG, "the table's name is longer "
		    "than %d characters", NAME_LEN_MAX);
	if (n == 0 || name[0] == '.' || strspn(name, allowed) != n)
		return lhi_fail(-EINVAL, "'%s' is no name for a table: use 1 "
		    "to %d of the characters A-Z a-z 0-9 . _ - and do not "
		    "begin with a dot", name, NAME_LEN_MAX);
	if (system_wide)
		(void)snprintf(path, len, PREFIX "system/%s.table", name);
	else
		(void)snprintf(path, len, PREFIX "%u/%s.table",
		    (unsigned)lhi_outer_uid(geteuid()), name);
	return 0;
}
