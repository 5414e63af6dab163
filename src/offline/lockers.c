/* SPDX-License-Identifier: MIT */
/*
 * Finds the processes that keep bytes of a live file locked, for an operator.
 *
 * A lock of an open file description has no pid (F_OFD_GETLK says -1). But
 * /proc/PID/fdinfo shows the locks of each descriptor of a process, to its user
 * and to root.  A session's own lock is not visible there, because its
 * description is kept by a mapping, not by a descriptor (prim/bytelock.h). So
 * the visible locks are those of others, and of removals and repairs.
 *
 * Only a hint: no decision depends on it.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "offline/live_users.h"
#include "offline/lockers.h"
#include "prim/descriptor.h"

#define PIDS_MAX 100000		/* processes examined */
#define FDS_MAX 4096		/* of each */
#define NAMED 4			/* named in the message */
#define PATH_LEN 64

/* True if that descriptor is of the file, and its fdinfo has a lock. */
static bool
has_lock(const char *pid, const char *fd, const struct stat *file)
{
	char path[PATH_LEN], text[4096];
	struct stat st;
	ssize_t n;
	int info;

	(void)snprintf(path, sizeof(path), "/proc/%.10s/fd/%.10s", pid, fd);
	if (stat(path, &st) != 0 || st.st_dev != file->st_dev ||
	    st.st_ino != file->st_ino)
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%.10s/fdinfo/%.10s", pid, fd);
	info = lhi_fd_open(path, O_RDONLY | O_CLOEXEC);
	n = info < 0 ? -1 : read(info, text, sizeof(text) - 1);
	if (info >= 0)
		(void)close(info);
	if (n < 0)
		return false;
	text[n] = '\0';
	return strstr(text, "lock:") != NULL;
}

static bool
is_locker(const char *pid, const struct stat *file)
{
	char path[PATH_LEN];
	const struct dirent *e;
	bool found = false;
	DIR *fds;

	(void)snprintf(path, sizeof(path), "/proc/%.10s/fd", pid);
	fds = opendir(path);
	for (int i = 0; fds != NULL && !found && i < FDS_MAX &&
	    (e = readdir(fds)) != NULL; i++)
		found = e->d_name[0] != '.' && has_lock(pid, e->d_name, file);
	if (fds != NULL)
		(void)closedir(fds);
	return found;
}

static void
add_name(char *to, size_t len, const char *pid)
{
	char path[PATH_LEN], name[20] = "?";
	size_t n = strlen(to);
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%.10s/comm", pid);
	fd = lhi_fd_open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		ssize_t got = read(fd, name, sizeof(name) - 1);

		name[got > 0 ? got : 0] = '\0';
		name[strcspn(name, "\n")] = '\0';
		(void)close(fd);
	}
	(void)snprintf(to + n, len - n, "%s%s (pid %s)", n > 0 ? ", " : "",
	    name, pid);
}

/* Names those that may have a lock that no descriptor shows. */
static void
name_mappers(char *to, size_t len, int fd)
{
	struct lhi_live_users users;
	char names[160];

	lhi_live_users_scan(&users, fd);
	lhi_live_users_name(&users, names, sizeof(names));
	if (users.n_mappers > 0)
		(void)snprintf(to, len, "a process that has it mapped (one of "
		    "%s%s)", names, users.n_mappers > LIVE_MAPPERS_MAX ?
		    " and others" : "");
	else
		(void)snprintf(to, len, "a process that %s", users.unseen > 0 ?
		    "you may not see" : "cannot be found: none that is seen "
		    "has it open or mapped");
}

void
lhi_lockers_name(char *to, size_t len, int fd)
{
	const struct dirent *e;
	struct stat file;
	int found = 0;
	DIR *proc;

	to[0] = '\0';
	proc = fstat(fd, &file) == 0 ? opendir("/proc") : NULL;
	for (int i = 0; proc != NULL && i < PIDS_MAX && found < NAMED &&
	    (e = readdir(proc)) != NULL; i++) {
		if (strspn(e->d_name, "0123456789") != strlen(e->d_name) ||
		    atol(e->d_name) == (long)getpid() ||
		    !is_locker(e->d_name, &file))
			continue;
		add_name(to, len, e->d_name);
		found++;
	}
	if (proc != NULL)
		(void)closedir(proc);
	if (found == 0)
		name_mappers(to, len, fd);
}
