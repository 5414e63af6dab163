/* SPDX-License-Identifier: MIT */
/*
 * Looks for second signs of life whose file is gone, for a repair by force.
 *
 * A socket keeps the first name that it was bound to for as long as a copy of
 * it is open, whatever becomes of its file (shm/session_sign.c).  The kernel
 * lists the sockets of each network namespace (foreign_socket.c). The list is
 * complete: it has a socket that no process shows, too (one that is in flight,
 * or kept by an io_uring).  So the sign is held if it is listed.  It is not
 * held if no list has it, of the network namespace of any thread or of any
 * descriptor.  For that, every thread must be visible.  (Process 1 may not be:
 * see live_users.c.)
 *
 * A list is read by a thread that has entered the namespace.  If it may not, or
 * the kernel has no sock_diag(7), /proc/PID/net/unix is read.  There a stranger
 * can put in any line by a socket's name, but can leave none out.  So if a sign
 * stands nowhere in it, it is not held there; otherwise nothing is known.
 *
 * Threads may all have left the network namespace of a sign that they still
 * have open.  So the descriptors of all processes are looked at.  A unix socket
 * that no list has so far is copied (pidfd_getfd(2)): it says its name, and its
 * namespace, whose list is read then.  If it cannot be copied, nothing is
 * known.
 *
 * A stranger can bind a socket of the same name.  A socket belongs to the user
 * who made it, and nobody but root can give it to another.  So a socket of a
 * user who can have no session of the table is not a sign (sign_files.c). If
 * the kernel does not say whose it is, the socket counts.
 *
 * Not covered: a sign that no process shows, of a network namespace which all
 * threads have left and of which no process shows a socket.
 *
 * A list that changes while it is read may leave one out, so it is read more
 * than once.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "offline/foreign_socket.h"
#include "offline/inode_set.h"
#include "offline/processes.h"
#include "offline/sign_files.h"
#include "offline/sign_holder.h"
#include "prim/descriptor.h"

#define LISTED_MAX 4194304	/* sockets of the machine */
#define NETS_MAX 65536		/* network namespaces: anybody can make some */
#define READS 3			/* of each list */
#define PATH_LEN 300
#define INIT 1

/* True if that names a second sign of the table; *idx is its record. */
static bool
is_sign_name(const struct lhi_view *v, const char *name, uint32_t *idx)
{
	const char *leaf = strrchr(name, '/');
	char id[24], *end;
	size_t n;

	n = (size_t)snprintf(id, sizeof(id), "/%016" PRIx64 "-", v->uuid[0]);
	if (leaf == NULL || strncmp(leaf, id, n) != 0)
		return false;
	*idx = (uint32_t)strtoul(leaf + n, &end, 10);
	return end != leaf + n && strcmp(end, ".sign~") == 0;
}

/* Notes a second sign, unless it is noted, or of a user who can have none. */
static void
note_sign(struct lhi_sign_holders *h, unsigned long ino, uint32_t idx,
    int64_t uid)
{
	for (unsigned i = 0; i < h->n; i++)
		if (h->socket[i].ino == ino && !h->socket[i].doubt)
			return;
	if (uid >= 0 && !lhi_sign_files_is_user(h->v, (uid_t)uid))
		return;
	if (h->n == SIGN_SOCKETS_MAX)
		h->unseen = true;
	else
		h->socket[h->n++] = (struct lhi_sign_socket){ .ino = ino,
			.idx = idx };
}

static void
note_listed(struct lhi_sign_holders *h, unsigned long ino)
{
	size_t room = h->room == 0 ? 1024 : 2 * h->room;
	unsigned long *more;

	if (h->n_listed == h->room) {
		more = room > LISTED_MAX ? NULL :
		    reallocarray(h->listed, room, sizeof(*more));
		if (more == NULL) {
			h->unseen = true;
			return;
		}
		h->listed = more;
		h->room = room;
	}
	h->listed[h->n_listed++] = ino;
}

static void
note_socket(const struct lhi_listed_socket *s, void *arg)
{
	struct lhi_sign_holders *h = arg;
	uint32_t idx;

	note_listed(h, s->ino);
	if (is_sign_name(h->v, s->name, &idx))
		note_sign(h, s->ino, idx, s->uid);
}

static void
note_doubt(struct lhi_sign_holders *h, uint32_t idx)
{
	for (unsigned i = 0; i < h->n; i++)
		if (h->socket[i].idx == idx)
			return;
	if (h->n == SIGN_SOCKETS_MAX)
		h->unseen = true;
	else
		h->socket[h->n++] = (struct lhi_sign_socket){ .idx = idx,
			.doubt = true };
}

/* Reads a list in which a stranger may have put in lines. */
static void
read_text(struct lhi_sign_holders *h, const char *list)
{
	FILE *f = fopen(list, "re");
	char *line = NULL, id[24], *end;
	size_t size = 0, n;
	unsigned long idx;

	n = (size_t)snprintf(id, sizeof(id), "/%016" PRIx64 "-", h->v->uuid[0]);
	while (f != NULL && getline(&line, &size, f) > 0)
		for (const char *at = line; (at = strstr(at, id)) != NULL;) {
			at += n;
			idx = strtoul(at, &end, 10);
			if (end != at && idx < h->v->geo.max_sessions)
				note_doubt(h, (uint32_t)idx);
		}
	h->unseen |= f == NULL || ferror(f);
	free(line);
	if (f != NULL)
		(void)fclose(f);
}

/* True if that namespace was not looked at. */
static bool
is_new_net(struct lhi_sign_holders *h, int net)
{
	struct stat st;
	int is_new = fstat(net, &st) != 0 ? -1 :
	    lhi_inode_set_add(&h->nets, st.st_ino);

	h->unseen |= is_new < 0;
	return is_new > 0;
}

struct visit {
	struct lhi_sign_holders *h;
	int net;		/* the namespace; -1: our own */
	bool entered;
};

/* Reads the list of a namespace, in a thread that has entered it. */
static void *
visit_net(void *arg)
{
	struct visit *t = arg;

	t->entered = t->net < 0 || setns(t->net, CLONE_NEWNET) == 0;
	for (int i = 0; t->entered && i < READS; i++)
		if (lhi_foreign_sockets_each(note_socket, t->h) != 0)
			read_text(t->h, "/proc/thread-self/net/unix");
	return NULL;
}

/* Reads the list of a network namespace, if it was not read yet: of that
 * descriptor, which is closed.  `list` is its name elsewhere, or NULL. */
static void
look_at_net(struct lhi_sign_holders *h, int net, const char *list)
{
	struct visit t = { h, net, false };
	pthread_t thread;

	if (is_new_net(h, net)) {
		if (pthread_create(&thread, NULL, visit_net, &t) == 0)
			(void)pthread_join(thread, NULL);
		for (int i = 0; !t.entered && list != NULL && i < READS; i++)
			read_text(h, list);
		h->unseen |= !t.entered && list == NULL;
	}
	(void)close(net);
}

static bool
look_at_thread(const char *task, pid_t tid, void *arg)
{
	struct lhi_sign_holders *h = arg;
	char path[PATH_LEN], list[PATH_LEN];
	struct stat st;
	int net;

	(void)tid;
	(void)snprintf(path, sizeof(path), "%s/ns/net", task);
	(void)snprintf(list, sizeof(list), "%s/net/unix", task);
	if (stat(path, &st) == 0 && lhi_inode_set_has(&h->nets, st.st_ino))
		return false;
	net = lhi_fd_open(path, O_RDONLY | O_CLOEXEC);
	if (net >= 0)
		look_at_net(h, net, list);
	else	/* a thread that has ended is in none */
		h->unseen |= errno != ENOENT && errno != ESRCH;
	return false;
}

static bool
look_at_nets(pid_t pid, void *arg)
{
	if (pid != INIT)
		(void)lhi_processes_each_thread(pid, look_at_thread, arg);
	return false;
}

static int
compare_inodes(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a;
	unsigned long y = *(const unsigned long *)b;

	return x < y ? -1 : x > y;
}

/* A look at the descriptors of a process. */
struct look {
	struct lhi_sign_holders *h;
	pid_t pid;
	size_t sorted;		/* of the listed sockets */
};

/* Looks at a unix socket that no list has. */
static void
look_at_unlisted(struct lhi_sign_holders *h, pid_t pid, int fd,
    unsigned long ino)
{
	struct lhi_foreign_socket s;
	uint32_t idx;

	switch (lhi_foreign_socket_read(pid, fd, &s)) {
	case 0:
		if (s.net >= 0)
			look_at_net(h, s.net, NULL);
		else
			h->unseen = true;
		if (is_sign_name(h->v, s.name, &idx))
			note_sign(h, ino, idx, s.uid);
		break;
	case -ESRCH:
	case -EBADF:	/* it is closed */
		break;
	default:
		h->unseen = true;
	}
}

/* Looks at a descriptor, which is a socket. */
static void
look_at_socket(const struct look *l, pid_t tid, const char *path, int fd,
    unsigned long ino)
{
	struct lhi_sign_holders *h = l->h;
	char family[24] = "";

	if (l->pid != INIT && bsearch(&ino, h->listed, l->sorted, sizeof(ino),
	    compare_inodes) == NULL) {
		if (getxattr(path, "system.sockprotoname", family,
		    sizeof(family) - 1) < 0)
			h->unseen |= errno != ENOENT && errno != ESRCH;
		else if (strncmp(family, "UNIX", 4) == 0)
			look_at_unlisted(h, tid, fd, ino);
	}
	for (unsigned i = 0; i < h->n; i++)
		if (h->socket[i].ino == ino && !h->socket[i].doubt)
			h->socket[i].holder = l->pid;
}

static bool
look_at_descriptors(const char *task, pid_t tid, void *arg)
{
	const struct look *l = arg;
	char path[PATH_LEN], to[40];
	const struct dirent *e;
	unsigned long ino;
	ssize_t n;
	DIR *fds;

	(void)snprintf(path, sizeof(path), "%s/fd", task);
	fds = opendir(path);
	l->h->unseen |= fds == NULL && l->pid != INIT && errno != ENOENT &&
	    errno != ESRCH;
	for (int i = 0; fds != NULL && i < DESCRIPTORS_MAX &&
	    (e = readdir(fds)) != NULL; i++) {
		n = readlinkat(dirfd(fds), e->d_name, to, sizeof(to) - 1);
		to[n > 0 ? n : 0] = '\0';
		(void)snprintf(path, sizeof(path), "%s/fd/%.12s", task,
		    e->d_name);
		if (sscanf(to, "socket:[%lu]", &ino) == 1)
			look_at_socket(l, tid, path, atoi(e->d_name), ino);
	}
	if (fds != NULL)
		(void)closedir(fds);
	return false;
}

static bool
look_at_process(pid_t pid, void *arg)
{
	struct look *l = arg;

	l->pid = pid;
	(void)lhi_processes_each_table(pid, look_at_descriptors, l);
	return false;
}

struct lhi_sign_holders *
lhi_sign_holders_scan(const struct lhi_view *v)
{
	struct lhi_sign_holders *h = calloc(1, sizeof(*h));
	struct look l = { .h = h };

	if (h == NULL)
		return NULL;
	h->v = v;
	h->nets.max = NETS_MAX;
	(void)look_at_thread("/proc/thread-self", 0, h);
	h->unseen |= !lhi_processes_are_visible() ||
	    !lhi_processes_each(look_at_nets, h);
	l.sorted = h->n_listed;
	if (l.sorted > 0)
		qsort(h->listed, l.sorted, sizeof(*h->listed), compare_inodes);
	h->unseen |= !lhi_processes_each(look_at_process, &l);
	free(h->listed);
	h->listed = NULL;
	lhi_inode_set_free(&h->nets);
	return h;
}

enum lhi_sign_found
lhi_sign_holders_find(const struct lhi_sign_holders *h, uint32_t idx,
    pid_t *pid)
{
	bool doubt = false, held = false;

	for (unsigned i = 0; i < h->n; i++) {
		const struct lhi_sign_socket *s = &h->socket[i];

		if (s->idx != idx)
			continue;
		doubt |= s->doubt;
		held |= !s->doubt;
		*pid = s->holder != 0 ? s->holder : *pid;
	}
	return held ? SIGN_HELD : doubt ? SIGN_DOUBTFUL : h->unseen ?
	    SIGN_UNSEEN : SIGN_NOT_HELD;
}
