/* SPDX-License-Identifier: MIT */
/*
 * Looks at the descriptors of all processes for second signs of life that no
 * list of sockets has (sign_holder.c).
 *
 * Threads may all have left the network namespace of a sign that they still
 * have open.  So a unix socket that no list has so far is copied
 * (foreign_socket.c): it says its name, and its namespace, whose list is read
 * then.
 *
 * The call that says that a descriptor is a socket also says which user made
 * it.  If that user can have no session of the table, it is no sign, and is not
 * copied.  Otherwise a stranger who puts sockets and pipes in the same place by
 * turns would leave a doubt.
 *
 * A process may put another file in a descriptor's place before it is copied.
 * Then the copy says what is there now, and the socket of before may be
 * somewhere else.  So the table of descriptors is looked at again.  If such a
 * socket is not met LOOKS times, there is a doubt, and the process is named.
 *
 * A process may also move a sign to where the look has been.  So a process of a
 * user of the table that has run meanwhile is looked at again: one that always
 * runs, ROUNDS times.  Each look meets a sign that is moved all the time with a
 * likelihood of a fifth at least, so nearly all of them do.  That leaves no
 * doubt, because a busy server always runs.  (Others have no sign unless they
 * were given one.)
 *
 * Threads may end while their descriptors are looked at.  Then another thread
 * is asked.  If none of a user's process can be looked at to the end, that is a
 * doubt.
 *
 * Of a process in execve(2) nothing can be copied, and who made a socket is not
 * known (process_maps.c).  So a unix socket of it that no list has is a doubt,
 * if the process is a user's; and so is one that ran meanwhile, because then it
 * is not in execve(2).
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/procstat.h"
#include "offline/foreign_socket.h"
#include "offline/inode_set.h"
#include "offline/look_child.h"
#include "offline/process_maps.h"
#include "offline/processes.h"
#include "offline/sign_descriptors.h"
#include "offline/sign_files.h"
#include "prim/descriptor.h"

#define LOOKS 20		/* for a socket that was not met */
#define ROUNDS 64		/* of looks at a process that runs */
#define LARGE 20000		/* descriptors: then only as many as */
#define ROUNDS_LARGE 8		/* this */
#define EXEC_LOOKS 10		/* at a process in execve(2) */
#define TRIES 100		/* of a process whose threads come and go */
#define REMEMBERED 4096		/* sockets of a process */
#define PATH_LEN 300
#define INIT 1

/* A look at the descriptors of a process. */
struct look {
	struct lhi_sign_holders *h;
	dev_t sockets;		/* the device of all sockets */
	long mount;		/* the mount of all sockets, as fdinfo has it */
	uid_t uid;		/* asked last */
	bool uid_is_user;	/* that one can have a session */
	pid_t pid;
	bool is_users;		/* the process of such a user, or in doubt */
	bool whole;		/* a table of it was looked at to the end */
	int thread;		/* opened for copies; -1: not yet */
	struct lhi_inode_set copied;	/* sockets of the process */
	struct lhi_inode_set missed;	/* in this look */
	unsigned long n;	/* descriptors, in this round */
	bool refused;		/* something of it, in this look */
};

/* True if that user can have a session of the table. */
static bool
is_user(struct look *l, uid_t uid)
{
	if (uid != l->uid) {
		l->uid = uid;
		l->uid_is_user = lhi_sign_files_is_user(&l->h->v, uid);
	}
	return l->uid_is_user;
}

/* True if a process of that status may be of a user who can have a session. */
static bool
is_users_process(struct look *l, const struct lhi_procstatus *s)
{
	for (int i = 0; i < PROCSTATUS_UIDS; i++)
		if (is_user(l, (uid_t)s->uid[i]))
			return true;
	return false;
}

/* A descriptor cannot be copied.  Of a socket that is none of unix that does
 * not matter. */
static void
note_refused(struct look *l, const char *task, const char *name)
{
	char path[PATH_LEN], family[24] = "";

	(void)snprintf(path, sizeof(path), "%s/fd/%.12s", task, name);
	if (getxattr(path, "system.sockprotoname", family,
	    sizeof(family) - 1) < 0 || strncmp(family, "UNIX", 4) == 0)
		l->refused = true;
}

/* Looks at a socket that no list has. */
static void
look_at_unlisted(struct look *l, const char *task, pid_t tid, const char *name,
    unsigned long ino)
{
	struct lhi_foreign_socket s = { 0 };
	int error;

	if (l->thread < 0)
		l->thread = lhi_foreign_thread_open(tid);
	error = l->thread < 0 ? -errno :
	    lhi_foreign_socket_read(l->thread, atoi(name), &s);
	if (error != 0 && error != -ESRCH && error != -EBADF) {
		note_refused(l, task, name);
		return;
	}
	if (error == 0 && s.ino != 0) {
		(void)lhi_inode_set_add(&l->copied, s.ino);
		if (s.is_unix && s.net >= 0)
			lhi_sign_lists_net(l->h, s.net, NULL);
		else if (s.is_unix)
			l->h->unseen = true;
		if (s.is_unix)
			lhi_sign_lists_note(l->h, s.ino, s.name, s.uid);
	}
	if ((error != 0 || s.ino != ino) &&
	    !lhi_inode_set_has(&l->copied, ino) &&
	    lhi_inode_set_add(&l->missed, ino) < 0)
		l->refused = true;
}

/* Notes that the process has that socket open. */
static void
note_open(struct look *l, unsigned long ino)
{
	for (unsigned i = 0; i < l->h->n; i++)
		if (l->h->socket[i].ino == ino && !l->h->socket[i].doubt)
			l->h->socket[i].holder = l->pid;
}

static void
look_at_descriptor(struct look *l, int dir, const char *task, pid_t tid,
    const char *name)
{
	struct statx sx;
	bool listed;

	if (statx(dir, name, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO |
	    STATX_UID, &sx) != 0)
		return;
	if (!S_ISSOCK(sx.stx_mode) ||
	    makedev(sx.stx_dev_major, sx.stx_dev_minor) != l->sockets)
		return;
	listed = l->pid == INIT || lhi_sign_lists_have(l->h, sx.stx_ino);
	if (!listed && !is_user(l, sx.stx_uid))
		return;
	if (!listed)
		look_at_unlisted(l, task, tid, name, sx.stx_ino);
	note_open(l, sx.stx_ino);
}

/* Looks at a table once.  Returns false if the thread has ended. */
static bool
look_once(struct look *l, const char *task, pid_t tid)
{
	const struct dirent *e;
	char path[PATH_LEN];
	DIR *fds;

	lhi_inode_set_free(&l->missed);
	l->refused = false;
	(void)snprintf(path, sizeof(path), "%s/fd", task);
	fds = opendir(path);
	if (fds == NULL) {
		l->refused = errno != ENOENT && errno != ESRCH &&
		    !lhi_processes_has_thread_ended(task);
		return l->refused;
	}
	for (int i = 0; i < DESCRIPTORS_MAX && (e = readdir(fds)) != NULL;
	    i++) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		lhi_look_step();
		look_at_descriptor(l, dirfd(fds), task, tid, e->d_name);
		l->n++;
	}
	(void)closedir(fds);
	if (l->thread >= 0)
		(void)close(l->thread);
	l->thread = -1;
	return lhi_process_thread_has_memory(task);
}

/* True if a socket was seen that was not met where it was looked for. */
static bool
has_missed(const struct look *l)
{
	for (size_t i = 0; i < l->missed.n; i++)
		if (!lhi_inode_set_has(&l->copied, l->missed.ino[i]))
			return true;
	return false;
}

static bool
look_at_table(const char *task, pid_t tid, void *arg)
{
	struct look *l = arg;

	for (int i = 0; i < LOOKS; i++) {
		if (!look_once(l, task, tid))
			return false;
		l->whole = true;
		if (l->refused)
			break;
		if (!has_missed(l))
			return false;
	}
	if (l->pid != INIT && (l->refused || has_missed(l)))
		lhi_live_pids_add(&l->h->unread, l->pid);
	return false;
}

/* How much the threads of a process have run. */
struct activity {
	unsigned long long ns;
	bool now;		/* one runs, or that is not known */
};

static bool
add_activity(const char *task, pid_t tid, void *arg)
{
	struct activity *a = arg;
	unsigned long long ns = 0, waited, times = 0;
	struct lhi_procstat ps;
	char path[PATH_LEN];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/schedstat", task);
	f = fopen(path, "re");
	a->now |= f == NULL || fscanf(f, "%llu %llu %llu", &ns, &waited,
	    &times) != 3 || !lhi_procstat_read(tid, tid, &ps) ||
	    ps.state == 'R';
	a->ns += ns + times;
	if (f != NULL)
		(void)fclose(f);
	return false;
}

static void
read_activity(pid_t pid, struct activity *a)
{
	*a = (struct activity){ 0, false };
	(void)lhi_processes_each_thread(pid, add_activity, a);
}

/* Looks at all tables of a process, of a thread that lives at least. */
static void
look_at_tables(struct look *l)
{
	l->whole = false;
	for (int i = 0; i < TRIES; i++) {
		(void)lhi_processes_each_table(l->pid, look_at_table, l);
		if (l->whole || l->pid == INIT ||
		    lhi_process_has_no_memory(l->pid))
			return;
	}
	if (l->is_users)
		lhi_live_pids_add(&l->h->unread, l->pid);
}

/* A descriptor, by its fdinfo. */
struct fdinfo {
	long mount;
	unsigned long ino;	/* 0: the kernel does not say */
	bool is_unix;
};

static bool
read_fdinfo(const char *path, struct fdinfo *d)
{
	FILE *f = fopen(path, "re");
	char line[256];

	*d = (struct fdinfo){ -1, 0, false };
	if (f == NULL)
		return false;
	while (fgets(line, sizeof(line), f) != NULL) {
		(void)sscanf(line, "mnt_id: %ld", &d->mount);
		(void)sscanf(line, "ino: %lu", &d->ino);
		d->is_unix |= strncmp(line, "scm_fds:", 8) == 0;
	}
	(void)fclose(f);
	return true;
}

/* Looks at the descriptors of a process in execve(2), of which nothing can be
 * copied.  Returns false if one of them may be a sign. */
static bool
look_at_fdinfo(struct look *l)
{
	const struct dirent *e;
	char path[PATH_LEN];
	bool seen = true;
	struct fdinfo d;
	DIR *fds;
	int i;

	(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo", (int)l->pid);
	fds = opendir(path);
	if (fds == NULL)
		return false;
	for (i = 0; i < DESCRIPTORS_MAX && (errno = 0, e = readdir(fds)) !=
	    NULL; i++) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		lhi_look_step();
		(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.12s",
		    (int)l->pid, e->d_name);
		if (!read_fdinfo(path, &d)) {
			seen &= errno == ENOENT;
			continue;
		}
		if (d.mount != l->mount)
			continue;
		seen &= d.ino != 0 && (!d.is_unix ||
		    lhi_sign_lists_have(l->h, d.ino));
		note_open(l, d.ino);
	}
	seen &= i < DESCRIPTORS_MAX && errno == 0;
	(void)closedir(fds);
	return seen;
}

/* Looks at a process that is not to be looked at freely.  Returns false if it
 * is by now. */
static bool
look_with_care(struct look *l, enum lhi_process_way way,
    const struct lhi_procstatus *before)
{
	const struct timespec a_moment = { 0, 10 * NS_PER_MS };
	struct lhi_procstatus now = *before;
	uint64_t switches;

	for (int i = 0; i < EXEC_LOOKS && way == PROCESS_IN_EXEC &&
	    lhi_look_times_stuck(l->pid) == 0; i++) {
		bool seen = look_at_fdinfo(l);

		switches = now.switches;
		way = lhi_process_way(l->pid, &now);
		/* one that has run meanwhile may have moved a sign */
		if (way == PROCESS_IN_EXEC && now.switches == switches && seen)
			return true;
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &a_moment, NULL);
	}
	if (way != PROCESS_FREELY) {
		lhi_live_pids_add(&l->h->unread, l->pid);
		l->h->unlisted = true;
	}
	return way != PROCESS_FREELY;
}

static bool
look_at_process(pid_t pid, void *arg)
{
	struct look *l = arg;
	struct activity before, after = { 0, false };
	struct lhi_procstatus status;
	enum lhi_process_way way = lhi_process_way(pid, &status);

	l->pid = pid;
	l->is_users = pid != INIT && (status.state == '\0' ||
	    is_users_process(l, &status));
	/* (of others only the holder of a sign that a list has is not named) */
	if (way != PROCESS_FREELY && (!l->is_users ||
	    look_with_care(l, way, &status)))
		return false;
	read_activity(pid, &after);
	for (int i = 0; i < ROUNDS; i++) {
		l->n = 0;
		before = after;
		look_at_tables(l);
		if (!l->is_users || pid == l->h->self ||
		    (l->n > LARGE && i + 1 == ROUNDS_LARGE))
			break;
		read_activity(pid, &after);
		if (!before.now && !after.now && before.ns == after.ns)
			break;
	}
	lhi_inode_set_free(&l->copied);
	lhi_inode_set_free(&l->missed);
	return false;
}

/* Finds out on which device all sockets are. */
static bool
learn_device(struct look *l)
{
	int one = lhi_fd_socket(SOCK_DGRAM | SOCK_CLOEXEC);
	bool known = false;
	char path[PATH_LEN];
	struct fdinfo d;
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", one);
	if (one >= 0 && fstat(one, &st) == 0 && read_fdinfo(path, &d)) {
		known = true;
		l->sockets = st.st_dev;
		l->mount = d.mount;
	}
	if (one >= 0)
		(void)close(one);
	return known;
}

void
lhi_sign_descriptors_look(struct lhi_sign_holders *h)
{
	struct look l = { .h = h, .thread = -1, .uid = 0, .uid_is_user = true };

	l.copied.max = l.missed.max = REMEMBERED;
	h->unseen |= !learn_device(&l) ||
	    !lhi_processes_each(look_at_process, &l);
}
