/* SPDX-License-Identifier: MIT */
/*
 * Asks the files of all second signs of life that a record may have, for a
 * repair by force.
 *
 * A member can write into a record that its session has no sign, or that
 * another user made it.  So those words decide nothing here.  The files do:
 * each user's are in a directory that only this user and root can write to
 * (shm/session_sign.c). So the directories of all users are looked into, for a
 * file of that record's name.
 *
 * A table that is not the machine's can be used by its owner and root alone.
 * So only their directories are looked into, and a stranger's file means
 * nothing.  Of a table of the machine nobody can say who was a member when a
 * session began, so all directories count.
 *
 * A file that an earlier session of the record left has no socket bound to it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "offline/sign_files.h"
#include "prim/descriptor.h"
#include "prim/file_owner.h"
#include "shm/outer_uid.h"
#include "shm/session_sign.h"
#include "shm/table_dir.h"

#define SHM "/dev/shm"
#define PREFIX "leasehold."
#define NAMES_MAX 100000	/* looked at in /dev/shm */
#define LEAF_MAX 40

bool
lhi_sign_files_is_user(const struct lhi_view *v, uid_t uid)
{
	char dir[sizeof(v->path)];
	struct stat st;

	lhi_table_dir_path(dir, sizeof(dir), v->path);
	return uid == 0 || lhi_table_dir_is_system(v->path) ||
	    stat(dir, &st) != 0 || st.st_uid == uid;
}

/* Returns 1: that directory is that user's, or root's; 0: it is a stranger's,
 * and no sign is made there; -1: not known. */
static int
is_users_own(int dir, uid_t uid)
{
	struct stat st;

	if (fstat(dir, &st) != 0)
		return -1;
	if (!lhi_uid_is_sure(st.st_uid))
		return -1;
	return st.st_uid == 0 || (uid_t)lhi_outer_uid(st.st_uid) == uid;
}

/* Asks the file of that name in that user's directory.  Returns 1: a socket is
 * bound to it; 0: none is, or there is no such file; -1: not known. */
static int
ask_file(int shm, const char *place, uid_t uid, const char *leaf)
{
	int dir = lhi_fd_openat(shm, place, O_PATH | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC, 0);
	struct stat st;
	int bound;

	if (dir < 0)	/* (a link, or a file: no sign is made there) */
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ?
		    0 : -1;
	bound = is_users_own(dir, uid);
	if (bound != 1)
		;
	else if (fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) != 0)
		bound = errno == ENOENT ? 0 : -1;
	else if (!S_ISSOCK(st.st_mode))
		bound = -1;
	else
		bound = lhi_sign_is_bound(dir, leaf);
	(void)close(dir);
	return bound < 0 ? -1 : bound;
}

/* True if that name in /dev/shm is the directory of a user of the table, and
 * not another way to write that user's number. */
static bool
is_users_place(const struct lhi_view *v, const char *name, uid_t *uid)
{
	char place[sizeof(PREFIX) + 10];

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return false;
	*uid = (uid_t)strtoul(name + strlen(PREFIX), NULL, 10);
	(void)snprintf(place, sizeof(place), PREFIX "%u", *uid);
	return strcmp(name, place) == 0 && lhi_sign_files_is_user(v, *uid);
}

int
lhi_sign_files_held(const struct lhi_view *v, uint32_t idx)
{
	DIR *list = opendir(SHM);
	const struct dirent *e = NULL;
	bool unknown = list == NULL;
	char leaf[LEAF_MAX];
	uid_t uid;
	int one = 0;

	(void)snprintf(leaf, sizeof(leaf), "%016" PRIx64 "-%u.sign", v->uuid[0],
	    idx);
	for (int i = 0; list != NULL && one != 1 && i < NAMES_MAX; i++) {
		errno = 0;
		e = readdir(list);
		if (e == NULL) {
			unknown |= errno != 0;
			break;
		}
		one = is_users_place(v, e->d_name, &uid) ?
		    ask_file(dirfd(list), e->d_name, uid, leaf) : 0;
		unknown |= one < 0;
	}
	unknown |= e != NULL;	/* more names */
	if (list != NULL)
		(void)closedir(list);
	return one == 1 ? 1 : unknown ? -1 : 0;
}
