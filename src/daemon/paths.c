/* SPDX-License-Identifier: MIT */
/*
 * Places of a daemon's own files: the pid file and the sockets.
 *
 * Only the last directory is made, as systemd's RuntimeDirectory= would.  In a
 * directory of somebody else, that user could put links and sockets in place of
 * ours.  So the directory, and a link that stands for it, must belong to root
 * or to the daemon's user.  A directory that everybody may write to must be
 * sticky, as /tmp is.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <bsd/string.h>
#include "paths.h"
#include "prim/file_owner.h"
#include "prim/id_map.h"
#include "shm/outer_uid.h"
#include "shm/table_words.h"

static bool
has_trusted_owner(const char *dir, const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) &&
	    lhi_owner_is_sure_at(dir, st);
}

int
paths_make_directory(const char *path, char why[PATHS_ERROR_MAX])
{
	char dir[PATH_MAX];
	struct stat st, link;
	char *slash;

	(void)strlcpy(dir, path, sizeof(dir));
	slash = strrchr(dir, '/');
	if (slash == NULL || slash == dir)
		return 0;
	*slash = '\0';
	if (mkdir(dir, 0755) != 0 && errno != EEXIST) {
		(void)snprintf(why, PATHS_ERROR_MAX, "cannot create the "
		    "directory %.200s: %s", dir, strerror(errno));
		return -1;
	}
	if (lstat(dir, &link) != 0 || stat(dir, &st) != 0 ||
	    !S_ISDIR(st.st_mode)) {
		(void)snprintf(why, PATHS_ERROR_MAX, "%.200s is not a "
		    "directory", dir);
		return -1;
	}
	if (!has_trusted_owner(dir, &link) || !has_trusted_owner(dir, &st) ||
	    ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))) {
		(void)snprintf(why, PATHS_ERROR_MAX, "other users can write to "
		    "the directory %.200s; choose a directory of your own",
		    dir);
		return -1;
	}
	return 0;
}

int
paths_take_socket(const char *at_path, int type)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct stat st;
	int fd, e;

	(void)strlcpy(at.sun_path, at_path, sizeof(at.sun_path));
	if (lstat(at_path, &st) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	e = connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 ?
	    EADDRINUSE : errno;
	(void)close(fd);
	if (e != ECONNREFUSED)
		return -e;
	return unlink(at_path) == 0 || errno == ENOENT ? 0 : -errno;
}

unsigned
paths_own_number(void)
{
	return lhi_outer_uid(geteuid());
}

bool
paths_is_owner_sure(int fd, const struct stat *st)
{
	return lhi_owner_is_sure(fd, st);
}

struct sought_user {
	uid_t uid;
	bool found;
};

static bool
has_number(const struct lhi_id_range *r, void *arg)
{
	struct sought_user *s = arg;

	s->found = s->uid >= r->inside && s->uid - r->inside < r->count;
	return !s->found;
}

bool
paths_has_user(uid_t uid)
{
	struct sought_user s = { uid, false };

	if (uid == geteuid() || access("/proc/self/uid_map", R_OK) != 0)
		return true;
	lhi_id_map_walk("/proc/self/uid_map", has_number, &s);
	return s.found;
}

const char *
paths_table_words(char buf[PATHS_TABLE_WORDS_MAX], const char *name,
    bool system_wide)
{
	_Static_assert(PATHS_TABLE_WORDS_MAX == TABLE_WORDS_MAX, "the same");
	return lhi_table_words_of(buf, name, system_wide);
}
