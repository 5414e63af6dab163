/* SPDX-License-Identifier: MIT */
/*
 * Reads the kernel's lists of sockets for second signs of life, in the network
 * namespaces of all threads and in others that descriptors lead to.
 *
 * A list is read by a thread that has entered the namespace.  If it may not, or
 * the kernel has no sock_diag(7), /proc/PID/net/unix is read.  There a stranger
 * can put in any line by a socket's name, but can leave none out.  So if a sign
 * stands nowhere in it, it is not held there; otherwise nothing is known.
 *
 * A list that changes while it is read may leave one out, so it is read more
 * than once.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "offline/foreign_socket.h"
#include "offline/look_child.h"
#include "offline/process_maps.h"
#include "offline/processes.h"
#include "offline/sign_files.h"
#include "offline/sign_lists.h"
#include "prim/descriptor.h"

#define LISTED_MAX 4194304	/* sockets of the machine */
#define NETS_MAX 65536		/* network namespaces: anybody can make some */
#define READS 3			/* of each list */
#define TRIES 500		/* of a process whose threads come and go */
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

void
lhi_sign_lists_note(struct lhi_sign_holders *h, unsigned long ino,
    const char *name, int64_t uid)
{
	uint32_t idx;

	if (!is_sign_name(&h->v, name, &idx))
		return;
	for (unsigned i = 0; i < h->n; i++)
		if (h->socket[i].ino == ino && !h->socket[i].doubt)
			return;
	if (uid >= 0 && !lhi_sign_files_is_user(&h->v, (uid_t)uid))
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

	lhi_look_step();
	note_listed(h, s->ino);
	lhi_sign_lists_note(h, s->ino, s->name, s->uid);
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

	n = (size_t)snprintf(id, sizeof(id), "/%016" PRIx64 "-", h->v.uuid[0]);
	while (f != NULL && getline(&line, &size, f) > 0)
		for (const char *at = line; (at = strstr(at, id)) != NULL;) {
			at += n;
			idx = strtoul(at, &end, 10);
			if (end != at && idx < h->v.geo.max_sessions)
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
	int net;		/* the namespace, or a process in it */
	bool of_process;	/* which may be one that was looked at */
	bool entered;
};

/* True if this thread is in a namespace that was not looked at. */
static bool
is_here_new(struct lhi_sign_holders *h)
{
	int net = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	bool is_new = is_new_net(h, net);

	if (net >= 0)
		(void)close(net);
	return is_new;
}

/* Reads the list of a namespace, in a thread that has entered it. */
static void *
visit_net(void *arg)
{
	struct visit *t = arg;

	t->entered = setns(t->net, CLONE_NEWNET) == 0;
	if (t->entered && t->of_process && !is_here_new(t->h))
		return NULL;
	for (int i = 0; t->entered && i < READS; i++)
		if (lhi_foreign_sockets_each(note_socket, t->h) != 0)
			read_text(t->h, "/proc/thread-self/net/unix");
	return NULL;
}

void
lhi_sign_lists_net(struct lhi_sign_holders *h, int net, const char *list)
{
	struct visit t = { h, net, false, false };
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

/* Reads the list of that process's network namespace, if it was not read yet.
 * Does not wait for its execve(2). */
static bool
look_at_net_of(struct lhi_sign_holders *h, pid_t pid)
{
	struct visit t = { h, lhi_foreign_thread_open(pid), true, false };
	pthread_t thread;

	if (t.net < 0)
		return errno == ESRCH;
	if (pthread_create(&thread, NULL, visit_net, &t) == 0)
		(void)pthread_join(thread, NULL);
	(void)close(t.net);
	return t.entered;
}

struct net_look {
	struct lhi_sign_holders *h;
	pid_t pid;
	bool seen;		/* the namespace of a thread of it */
};

static bool
look_at_thread(const char *task, pid_t tid, void *arg)
{
	struct net_look *l = arg;
	char path[PATH_LEN], list[PATH_LEN];
	struct stat st;
	int net;

	(void)tid;
	(void)snprintf(path, sizeof(path), "%s/ns/net", task);
	(void)snprintf(list, sizeof(list), "%s/net/unix", task);
	if (stat(path, &st) == 0 && lhi_inode_set_has(&l->h->nets, st.st_ino)) {
		l->seen = true;
		return false;
	}
	net = lhi_fd_open(path, O_RDONLY | O_CLOEXEC);
	if (net >= 0)
		lhi_sign_lists_net(l->h, net, list);
	else if (errno == ENOENT || errno == ESRCH ||
	    lhi_processes_has_thread_ended(task))
		return false;	/* it is in none */
	else
		lhi_live_pids_add(&l->h->unread, l->pid);
	l->seen = true;
	return false;
}

static bool
look_at_nets(pid_t pid, void *arg)
{
	struct net_look l = { arg, pid, false };
	struct lhi_procstatus status;
	enum lhi_process_way way;

	if (pid == INIT)
		return false;
	way = lhi_process_way(pid, &status);
	if (way != PROCESS_FREELY) {
		/* (other threads of it may be in other ones) */
		if (!look_at_net_of(l.h, pid) || status.threads > 1)
			lhi_live_pids_add(&l.h->unread, pid);
		return false;
	}
	for (int i = 0; i < TRIES; i++) {
		(void)lhi_processes_each_thread(pid, look_at_thread, &l);
		if (l.seen || lhi_process_has_no_memory(pid))
			return false;
	}
	lhi_live_pids_add(&l.h->unread, pid);
	return false;
}

static int
compare_inodes(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a;
	unsigned long y = *(const unsigned long *)b;

	return x < y ? -1 : x > y;
}

void
lhi_sign_lists_read(struct lhi_sign_holders *h)
{
	struct net_look own = { h, h->self, false };

	h->nets.max = NETS_MAX;
	(void)look_at_thread("/proc/thread-self", 0, &own);
	h->unseen |= !lhi_processes_each(look_at_nets, h);
	h->n_sorted = h->n_listed;
	if (h->n_sorted > 0)
		qsort(h->listed, h->n_sorted, sizeof(*h->listed),
		    compare_inodes);
}

bool
lhi_sign_lists_have(const struct lhi_sign_holders *h, unsigned long ino)
{
	return h->n_sorted > 0 && bsearch(&ino, h->listed, h->n_sorted,
	    sizeof(ino), compare_inodes) != NULL;
}

void
lhi_sign_lists_free(struct lhi_sign_holders *h)
{
	free(h->listed);
	h->listed = NULL;
	h->n_listed = h->n_sorted = h->room = 0;
	lhi_inode_set_free(&h->nets);
}
