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
 *
 * A lock whose description is neither mapped nor open (a descriptor in flight
 * between two processes keeps it) is found nowhere.  An io_uring that keeps the
 * file says so, but not what it has locked.
 *
 * That nobody maps the file is believed only if every process was looked at:
 * all are visible (processes.c), and each one gave an answer
 * (process_maps.c). Otherwise nothing is known.  Process 1 of the machine is
 * the exception: a kernel may keep even root from examining it, and it holds no
 * leases.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <bsd/string.h>
#include "base/procstat.h"
#include "offline/live_users.h"
#include "offline/look_child.h"
#include "offline/process_maps.h"
#include "offline/processes.h"

#define SESSION_BYTES 2		/* that a session locks (session_bytes.c) */
#define PATH_LEN 300
#define INIT 1
#define LIMIT_MS 20000	/* of a look: nobody can attach meanwhile */

/* Reads a line of fdinfo.  Returns true if it is a lock of bytes.  (flock(2)
 * and leases, which are none, have lines that look the same.) */
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

/* A look at the descriptors of a process. */
struct descriptor_look {
	struct lhi_live_users *u;
	bool maps;	/* it maps the file, so its locks explain nothing */
	bool locks;	/* it was seen to have locked bytes, or may have */
	bool waits;	/* a thread of it waits for bytes of the file */
};

/* How a line of fdinfo about a lock names the live file. */
static void
name_in_locks(const struct lhi_live_users *u, char file[64])
{
	(void)snprintf(file, 64, " %02x:%02x:%llu ", major(u->dev),
	    minor(u->dev), u->ino);
}

/* Reads a descriptor's fdinfo.  `ring`: of an io_uring, which lists its files;
 * else of the live file, for its locks. */
static void
read_fdinfo(struct descriptor_look *l, const char *path, bool ring)
{
	struct lhi_live_users *u = l->u;
	FILE *f = fopen(path, "re");
	char *line = NULL, file[64];
	struct lhi_live_lock lock;
	size_t size = 0;

	name_in_locks(u, file);
	while (f != NULL && getline(&line, &size, f) > 0) {
		if (ring && u->leaf[0] != '\0' &&
		    strstr(line, u->leaf) != NULL)
			l->locks = true;
		/* (another file may have the descriptor by now) */
		if (ring || strstr(line, file) == NULL ||
		    !is_byte_lock(line, &lock))
			continue;
		l->locks = true;
		if (!l->maps && u->n_locks < LIVE_LOCKS_MAX)
			u->lock[u->n_locks++] = lock;
	}
	free(line);
	if (f != NULL)
		(void)fclose(f);
}

/* True if that descriptor is of the live file; *may_be_ring if it may be an
 * io_uring.  The file's server is not asked: that of another file might never
 * answer. */
static bool
is_live_file(const struct lhi_live_users *u, int dir, const char *name,
    bool *may_be_ring)
{
	struct statx sx;
	bool known = statx(dir, name, AT_STATX_DONT_SYNC, STATX_TYPE |
	    STATX_INO, &sx) == 0;

	/* (a ring has no type, or that of a file) */
	*may_be_ring = !known || (sx.stx_mode & S_IFMT) == 0 ||
	    S_ISREG(sx.stx_mode);
	return known && sx.stx_ino == u->ino &&
	    makedev(sx.stx_dev_major, sx.stx_dev_minor) == u->dev;
}

static bool
is_ring(int dir, const char *name)
{
	static const char ring[] = "anon_inode:[io_uring]";
	char to[sizeof(ring)];

	return readlinkat(dir, name, to, sizeof(to)) ==
	    (ssize_t)sizeof(ring) - 1 && memcmp(to, ring, sizeof(ring) - 1) ==
	    0;
}

static bool
look_at_descriptors(const char *task, pid_t tid, void *arg)
{
	struct descriptor_look *l = arg;
	const struct dirent *e;
	char path[PATH_LEN];
	DIR *fds;
	bool is, ring;

	(void)tid;
	(void)snprintf(path, sizeof(path), "%s/fd", task);
	fds = opendir(path);
	for (int i = 0; fds != NULL && i < DESCRIPTORS_MAX &&
	    (e = readdir(fds)) != NULL; i++) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		lhi_look_step();
		is = is_live_file(l->u, dirfd(fds), e->d_name, &ring);
		if (!is && (!ring || !is_ring(dirfd(fds), e->d_name)))
			continue;
		(void)snprintf(path, sizeof(path), "%s/fdinfo/%.12s", task,
		    e->d_name);
		read_fdinfo(l, path, !is);
	}
	if (fds != NULL)
		(void)closedir(fds);
	return false;
}

/* Reads a descriptor's fdinfo.  A lock has its file's device and inode.  A
 * stranger can choose an inode, and perhaps a device: so such a lock names a
 * locker, and explains nothing. */
static void
read_locks(struct descriptor_look *l, const char *path)
{
	char *line = NULL, file[64];
	FILE *f = fopen(path, "re");
	struct lhi_live_lock lock;
	size_t size = 0;

	name_in_locks(l->u, file);
	while (f != NULL && getline(&line, &size, f) > 0)
		l->locks |= strstr(line, file) != NULL &&
		    is_byte_lock(line, &lock);
	free(line);
	if (f != NULL)
		(void)fclose(f);
}

/* Looks at the descriptors of a process in execve(2). */
static void
look_at_fdinfo(struct descriptor_look *l, pid_t pid)
{
	const struct dirent *e;
	char path[PATH_LEN];
	DIR *fds;

	(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo", (int)pid);
	fds = opendir(path);
	for (int i = 0; fds != NULL && i < DESCRIPTORS_MAX &&
	    (e = readdir(fds)) != NULL; i++) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		lhi_look_step();
		(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.12s",
		    (int)pid, e->d_name);
		read_locks(l, path);
	}
	if (fds != NULL)
		(void)closedir(fds);
}

/* Looks whether that thread is in a call that waits for bytes of the file. */
static bool
look_at_call(const char *task, pid_t tid, void *arg)
{
	struct descriptor_look *l = arg;
	char path[PATH_LEN], name[16];
	unsigned long fd, command;
	FILE *f;
	long call;
	bool ring;
	int dir;

	(void)tid;
	(void)snprintf(path, sizeof(path), "%s/syscall", task);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	if (fscanf(f, "%ld %lx %lx", &call, &fd, &command) == 3 &&
	    call == SYS_fcntl &&
	    (command == F_SETLKW || command == F_OFD_SETLKW)) {
		(void)snprintf(path, sizeof(path), "%s/fd", task);
		(void)snprintf(name, sizeof(name), "%d", (int)fd);
		dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		l->waits = dir >= 0 && is_live_file(l->u, dir, name, &ring);
		if (dir >= 0)
			(void)close(dir);
	}
	(void)fclose(f);
	return l->waits;
}

void
lhi_live_pids_add(struct lhi_live_pids *p, pid_t pid)
{
	for (unsigned i = 0; i < p->n && i < LIVE_NAMED_MAX; i++)
		if (p->pid[i] == pid)
			return;
	if (p->n < LIVE_NAMED_MAX)
		p->pid[p->n] = pid;
	p->n++;
}

static void
add_mapper(struct lhi_live_users *u, pid_t pid)
{
	struct lhi_procstat ps;

	lhi_live_pids_add(&u->mappers, pid);
	if (u->n_mappers < LIVE_MAPPERS_MAX)
		u->mapper[u->n_mappers++] = (struct lhi_live_mapper){ pid,
			lhi_procstat_read(pid, 0, &ps) ? ps.start_ticks : 0 };
}

static bool
note_process(pid_t pid, void *arg)
{
	struct lhi_live_users *u = arg;
	struct descriptor_look l = { u, true, false, false };
	struct lhi_procstatus status;
	int maps;

	switch (lhi_process_way(pid, &status)) {
	case PROCESS_IN_EXEC:	/* it has no file mapped */
		l.maps = false;
		if (lhi_look_times_stuck(pid) == 0)
			look_at_fdinfo(&l, pid);
		if (l.locks)
			lhi_live_pids_add(&u->lockers, pid);
		return false;
	case PROCESS_NOT_AT_ALL:
		lhi_live_pids_add(&u->unread, pid);
		return false;
	default:
		break;
	}
	maps = lhi_process_maps(pid, &u->in_maps);
	if (maps < 0 && (pid != INIT || !u->sees_all))
		lhi_live_pids_add(&u->unread, pid);
	else if (maps > 0)
		add_mapper(u, pid);
	else
		l.maps = false;
	/* (ours are the locks of the repair) */
	if (pid != u->self)
		(void)lhi_processes_each_table(pid, look_at_descriptors, &l);
	if (l.locks)
		lhi_live_pids_add(&u->lockers, pid);
	else if (pid != u->self &&
	    lhi_processes_each_thread(pid, look_at_call, &l))
		lhi_live_pids_add(&u->waiters, pid);
	return false;
}

static void
learn_leaf(struct lhi_live_users *u, int fd)
{
	char self[40], path[PATH_LEN];
	const char *leaf;
	ssize_t n;

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = readlink(self, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	leaf = strrchr(path, '/');
	(void)strlcpy(u->leaf, leaf != NULL ? leaf : "", sizeof(u->leaf));
	u->leaf[strcspn(u->leaf, " ")] = '\0';	/* " (deleted)" */
}

static void
look_at_processes(void *arg)
{
	struct lhi_live_users *u = arg;

	u->incomplete = !lhi_processes_each(note_process, u);
}

struct lhi_live_users *
lhi_live_users_scan(int fd, bool apart)
{
	struct lhi_live_users *u = calloc(1, sizeof(*u));
	struct stat st;
	pid_t at = 0;

	if (u == NULL)
		return NULL;
	u->incomplete = true;
	if (fstat(fd, &st) != 0 || !lhi_process_maps_learn(&u->in_maps, fd))
		return u;
	u->self = getpid();
	u->dev = st.st_dev;
	u->ino = st.st_ino;
	learn_leaf(u, fd);
	u->sees_all = lhi_processes_are_visible();
	if (!apart)
		look_at_processes(u);
	else
		u->error = lhi_look_apart(look_at_processes, u, sizeof(*u),
		    LIMIT_MS, &at);
	if (at != 0 && u->error != 0)
		lhi_live_pids_add(&u->unread, at);
	return u;
}

bool
lhi_live_users_has(const struct lhi_live_users *u, pid_t pid,
    uint64_t start_ticks)
{
	for (unsigned i = 0; i < u->n_mappers; i++)
		if (u->mapper[i].pid == pid && (start_ticks == 0 ||
		    u->mapper[i].start_ticks == 0 ||
		    u->mapper[i].start_ticks == start_ticks))
			return true;
	return false;
}

bool
lhi_live_users_none_maps(const struct lhi_live_users *u)
{
	return u->mappers.n == 0 && u->unread.n == 0 && !u->incomplete &&
	    u->sees_all;
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
lhi_live_users_name(const struct lhi_live_pids *p, char *to, size_t len)
{
	to[0] = '\0';
	for (unsigned i = 0; i < p->n && i < LIVE_NAMED_MAX; i++)
		if (p->n == 1 || p->pid[i] != getpid())
			add_name(to, len, p->pid[i]);
	if (p->n > LIVE_NAMED_MAX)
		(void)strlcat(to, " and others", len);
}
