/* SPDX-License-Identifier: MIT */
/*
 * Looks for a second sign of life whose file is gone, for a repair by force.
 *
 * A socket keeps the first name that it was bound to for as long as a copy of
 * it is open, whatever becomes of its file (shm/session_sign.c). The kernel
 * lists it in /proc/PID/net/unix of its network namespace.  The list is
 * complete: it has a socket that no process shows, too (one that is in flight,
 * or kept by an io_uring).  So the sign is held if it is listed.  It is not
 * held if no list has it, of the network namespace of any thread.  For that,
 * every thread must be visible.  (Process 1 may not be: see live_users.c.)
 *
 * Not covered: a sign that was made in a network namespace which all threads
 * have left since.
 *
 * A list that changes while it is read may leave one out, so it is read more
 * than once.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "offline/processes.h"
#include "offline/sign_holder.h"

#define SOCKETS_MAX 8
#define NETS_MAX 256		/* network namespaces */
#define READS 3			/* of each list */
#define PATH_LEN 80
#define INIT 1

struct search {
	const char *leaf;
	unsigned nets, sockets;
	ino_t net[NETS_MAX];
	unsigned long socket[SOCKETS_MAX];
	bool unseen;		/* of some threads the namespace is not known */
	pid_t holder;
};

static bool
is_noted(const struct search *s, unsigned long ino)
{
	for (unsigned i = 0; i < s->sockets; i++)
		if (s->socket[i] == ino)
			return true;
	return false;
}

/* Notes the sockets of that name which the list has. */
static void
read_list(struct search *s, const char *list)
{
	FILE *f = fopen(list, "re");
	char *line = NULL, name[110];
	size_t size = 0, n = strlen(s->leaf);
	unsigned long ino;

	while (f != NULL && s->sockets < SOCKETS_MAX &&
	    getline(&line, &size, f) > 0)
		if (sscanf(line, "%*s %*s %*s %*s %*s %*s %lu %109s", &ino,
		    name) == 2 && strlen(name) >= n &&
		    strcmp(name + strlen(name) - n, s->leaf) == 0 &&
		    !is_noted(s, ino))
			s->socket[s->sockets++] = ino;
	s->unseen |= f == NULL || ferror(f);
	free(line);
	if (f != NULL)
		(void)fclose(f);
}

/* Reads the list of the thread's network namespace, if it was not read yet. */
static void
look_at_net(struct search *s, const char *task)
{
	char path[PATH_LEN];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/ns/net", task);
	if (stat(path, &st) != 0) {
		/* a thread that has ended is in none */
		s->unseen |= errno != ENOENT && errno != ESRCH;
		return;
	}
	for (unsigned i = 0; i < s->nets; i++)
		if (s->net[i] == st.st_ino)
			return;
	if (s->nets == NETS_MAX) {
		s->unseen = true;
		return;
	}
	s->net[s->nets++] = st.st_ino;
	(void)snprintf(path, sizeof(path), "%s/net/unix", task);
	for (int i = 0; i < READS && s->sockets == 0; i++)
		read_list(s, path);
}

static bool
look_at_thread(const char *task, pid_t tid, void *arg)
{
	(void)tid;
	look_at_net(arg, task);
	return false;
}

static bool
look_at_process(pid_t pid, void *arg)
{
	if (pid != INIT)
		(void)lhi_processes_each_thread(pid, look_at_thread, arg);
	return false;
}

/* True if a descriptor of that table is one of the sockets. */
static bool
has_socket(const char *task, pid_t tid, void *arg)
{
	const struct search *s = arg;
	const struct dirent *e;
	char path[PATH_LEN];
	unsigned long ino;
	bool found = false;
	DIR *fds;

	(void)tid;
	(void)snprintf(path, sizeof(path), "%s/fd", task);
	fds = opendir(path);
	for (int i = 0; fds != NULL && !found && i < DESCRIPTORS_MAX &&
	    (e = readdir(fds)) != NULL; i++) {
		ssize_t n = readlinkat(dirfd(fds), e->d_name, path,
		    sizeof(path) - 1);

		path[n > 0 ? n : 0] = '\0';
		found = sscanf(path, "socket:[%lu]", &ino) == 1 &&
		    is_noted(s, ino);
	}
	if (fds != NULL)
		(void)closedir(fds);
	return found;
}

static bool
is_holder(pid_t pid, void *arg)
{
	struct search *s = arg;

	if (!lhi_processes_each_table(pid, has_socket, s))
		return false;
	s->holder = pid;
	return true;
}

int
lhi_sign_holder_find(const char *leaf, pid_t *pid)
{
	struct search s = { .leaf = leaf };

	look_at_net(&s, "/proc/thread-self");
	s.unseen |= !lhi_processes_each(look_at_process, &s) ||
	    !lhi_processes_are_visible();
	if (s.sockets > 0)
		(void)lhi_processes_each(is_holder, &s);
	*pid = s.holder;
	return s.sockets > 0 ? 1 : s.unseen ? -1 : 0;
}
