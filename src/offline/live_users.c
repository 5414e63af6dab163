/* SPDX-License-Identifier: MIT */
/*
 * Finds the processes that use a live file, for a repair by force.
 *
 * The words of a session's record are any member's to write, so they prove
 * neither life nor death.  Only a process itself can cause these:
 *
 *	a mapping of the live file	each session's process has one from
 *		before its byte is locked to its end (prim/bytelock.h); the
 *		mapping keeps the description that has the lock
 *	a descriptor's lock		fdinfo shows it.  The description of a
 *		session has no descriptor once its process has opened the table;
 *		until then that process maps the file as well.  So a lock that
 *		a process without a mapping has is no session's.  (A child that
 *		was cloned meanwhile may have that descriptor.  So a lock of a
 *		session's two bytes alone proves nothing.)
 *	a socket's name			the second sign is bound to its first
 *		name for as long as a copy of it is open, whatever becomes of
 *		its file (shm/session_sign.c)
 *
 * A lock whose description is neither mapped nor open (a descriptor in flight
 * between two processes keeps it) is found nowhere.
 *
 * A mapping of another user is visible to root only.  Root cannot examine some
 * processes either, where it lacks capabilities, but no user can make its own
 * one of them; so root does not count these as unseen.  A process of another
 * pid namespace is visible from the first one only.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/process.h"
#include "offline/live_users.h"

#define PIDS_MAX 100000		/* processes examined */
#define FDS_MAX 65536		/* of each */
#define SOCKETS_MAX 8
#define SESSION_BYTES 2		/* that a session locks (session_bytes.c) */
#define PATH_LEN 80
#define FIRST_PID_NS 0xeffffffcu	/* the kernel's PROC_PID_INIT_INO */

typedef bool look_fn(pid_t pid, void *arg);

/* Calls fn for each process, until it returns true. */
static void
for_each_process(look_fn *fn, void *arg)
{
	DIR *proc = opendir("/proc");
	const struct dirent *e;

	for (int i = 0; proc != NULL && i < PIDS_MAX &&
	    (e = readdir(proc)) != NULL; i++)
		if (isdigit((unsigned char)e->d_name[0]) &&
		    fn((pid_t)atol(e->d_name), arg))
			break;
	if (proc != NULL)
		(void)closedir(proc);
}

int
lhi_live_users_maps(const struct lhi_live_users *u, pid_t pid)
{
	char path[PATH_LEN], *line = NULL;
	unsigned long long ino;
	unsigned major, minor;
	size_t size = 0;
	int found = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return errno == ENOENT || errno == ESRCH || geteuid() == 0 ? 0 :
		    -errno;
	while (found == 0 && getline(&line, &size, f) > 0)
		found = sscanf(line, "%*s %*s %*s %x:%x %llu", &major, &minor,
		    &ino) == 3 && ino == u->ino &&
		    makedev(major, minor) == u->dev;
	free(line);
	(void)fclose(f);
	return found;
}

/* Reads a line of fdinfo.  Returns true if it is a lock of bytes.  (flock(2)
 * and leases, which are no such locks, have lines that look the same.) */
static bool
is_byte_lock(const char *line, struct lhi_live_lock *l)
{
	char kind[12], last[24];
	long long first;

	if (sscanf(line, "lock: %*s %11s %*s %*s %*s %*s %lld %23s", kind,
	    &first, last) != 3 ||
	    (strcmp(kind, "OFDLCK") != 0 && strcmp(kind, "POSIX") != 0))
		return false;
	l->first = first;
	l->last = strcmp(last, "EOF") == 0 ? INT64_MAX : atoll(last);
	return true;
}

/* Notes the locks of bytes that the descriptor has, by its fdinfo. */
static void
note_locks(struct lhi_live_users *u, const char *fdinfo)
{
	FILE *f = fopen(fdinfo, "re");
	char *line = NULL;
	size_t size = 0;

	while (f != NULL && u->n_locks < LIVE_LOCKS_MAX &&
	    getline(&line, &size, f) > 0)
		u->n_locks += is_byte_lock(line, &u->lock[u->n_locks]);
	free(line);
	if (f != NULL)
		(void)fclose(f);
}

/* Opens /proc/PID/fd. */
static DIR *
open_descriptors(pid_t pid)
{
	char path[PATH_LEN];

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	return opendir(path);
}

static void
note_descriptors(struct lhi_live_users *u, pid_t pid)
{
	DIR *fds = open_descriptors(pid);
	const struct dirent *e;
	char path[PATH_LEN];
	struct stat st;

	for (int i = 0; fds != NULL && i < FDS_MAX &&
	    (e = readdir(fds)) != NULL; i++) {
		if (!isdigit((unsigned char)e->d_name[0]) ||
		    fstatat(dirfd(fds), e->d_name, &st, 0) != 0 ||
		    st.st_dev != u->dev || st.st_ino != u->ino)
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.12s",
		    (int)pid, e->d_name);
		note_locks(u, path);
	}
	if (fds != NULL)
		(void)closedir(fds);
}

static bool
note_process(pid_t pid, void *arg)
{
	struct lhi_live_users *u = arg;
	int maps = lhi_live_users_maps(u, pid);

	if (maps < 0) {
		u->unseen++;
	} else if (maps > 0) {
		if (u->n_mappers < LIVE_MAPPERS_MAX)
			u->mapper[u->n_mappers] = pid;
		u->n_mappers++;
	} else if (pid != getpid()) {
		/* (ours are the locks of the repair) */
		note_descriptors(u, pid);
	}
	return false;
}

void
lhi_live_users_scan(struct lhi_live_users *u, int fd)
{
	struct stat st;

	memset(u, 0, sizeof(*u));
	if (fstat(fd, &st) != 0) {
		u->unseen = 1;
		return;
	}
	u->dev = st.st_dev;
	u->ino = st.st_ino;
	u->sees_all = lhi_process_pid_ns() == FIRST_PID_NS;
	for_each_process(note_process, u);
}

bool
lhi_live_users_explain(const struct lhi_live_users *u, off_t byte)
{
	for (unsigned i = 0; i < u->n_locks; i++)
		if (u->lock[i].first <= byte && byte <= u->lock[i].last &&
		    u->lock[i].last - u->lock[i].first >= SESSION_BYTES)
			return true;
	return false;
}

/* Appends the name of the process. */
static void
add_name(char *to, size_t len, pid_t pid)
{
	char path[PATH_LEN], name[20] = "?";
	size_t n = strlen(to);
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (f != NULL) {
		if (fgets(name, sizeof(name), f) != NULL)
			name[strcspn(name, "\n")] = '\0';
		(void)fclose(f);
	}
	(void)snprintf(to + n, len - n, "%s%s (pid %d)", n > 0 ? ", " : "",
	    name, (int)pid);
}

void
lhi_live_users_name(const struct lhi_live_users *u, char *to, size_t len)
{
	to[0] = '\0';
	for (unsigned i = 0; i < u->n_mappers && i < LIVE_MAPPERS_MAX; i++)
		if (u->n_mappers == 1 || u->mapper[i] != getpid())
			add_name(to, len, u->mapper[i]);
}

/* Sockets by their inodes, and the process that has one open. */
struct sockets {
	unsigned n;
	unsigned long ino[SOCKETS_MAX];
	pid_t pid;
};

/* Adds the sockets of a network namespace whose names end with leaf. */
static void
add_sockets(struct sockets *s, const char *list, const char *leaf)
{
	FILE *f = fopen(list, "re");
	char *line = NULL, name[110];
	size_t size = 0, n = strlen(leaf);
	unsigned long ino;

	while (f != NULL && s->n < SOCKETS_MAX &&
	    getline(&line, &size, f) > 0)
		if (sscanf(line, "%*s %*s %*s %*s %*s %*s %lu %109s", &ino,
		    name) == 2 && strlen(name) >= n &&
		    strcmp(name + strlen(name) - n, leaf) == 0)
			s->ino[s->n++] = ino;
	free(line);
	if (f != NULL)
		(void)fclose(f);
}

static bool
has_socket(pid_t pid, void *arg)
{
	DIR *fds = open_descriptors(pid);
	struct sockets *s = arg;
	const struct dirent *e;
	char to[PATH_LEN];
	unsigned long ino;
	bool found = false;

	for (int i = 0; fds != NULL && !found && i < FDS_MAX &&
	    (e = readdir(fds)) != NULL; i++) {
		ssize_t n = readlinkat(dirfd(fds), e->d_name, to,
		    sizeof(to) - 1);

		if (n < 0)
			continue;
		to[n] = '\0';
		if (sscanf(to, "socket:[%lu]", &ino) != 1)
			continue;
		for (unsigned k = 0; k < s->n; k++)
			found |= s->ino[k] == ino;
	}
	if (fds != NULL)
		(void)closedir(fds);
	if (found)
		s->pid = pid;
	return found;
}

pid_t
lhi_live_users_socket(const char *leaf, pid_t pid)
{
	struct sockets s = { 0 };
	char path[PATH_LEN];

	add_sockets(&s, "/proc/self/net/unix", leaf);
	if (pid > 0) {
		(void)snprintf(path, sizeof(path), "/proc/%d/net/unix",
		    (int)pid);
		add_sockets(&s, path, leaf);
	}
	if (s.n > 0)
		for_each_process(has_socket, &s);
	return s.pid;
}
