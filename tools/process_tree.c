/* SPDX-License-Identifier: MIT */
/*
 * The descendants of a `run`: the processes that the command has become.
 *
 * `run` is a child subreaper, so a process below us that loses its parent
 * becomes our child.  A process therefore stays our descendant even if it forks
 * twice, calls setsid(2) or leaves the process group.  (This ends when we end.
 * Then only PDEATHSIG for the command itself, the lease's deadline and the
 * fencing token remain.)
 *
 * The kernel has no call that signals a subtree.  We read /proc once: pid,
 * parent and group of every process that we may see, then follow the parents.
 * The processes change meanwhile:
 *
 *	forked after it was read
 *		Missed; a caller that wants the tree to end repeats until
 *		no process is left.
 *	died, pid reused
 *		Not signalled, unless the other process is our descendant as
 *		well: that is read again.  A pidfd taken before that check names
 *		the same process after it; without pidfds (old kernel, valgrind)
 *		a moment remains between check and kill(2).
 *	hidden (hidepid=)
 *		Belongs to another user, whom we could not signal either.
 *
 * Zombies do not count: they hold nothing, and their parents may be slow.  A
 * process whose first thread has ended while others run looks like a zombie but
 * has more than one thread.
 *
 * Strangers.  A script may have started a process and then exec()ed us.  That
 * process is our child but no part of the command.  process_tree_begin()
 * remembers the children that exist before the command starts; they and their
 * descendants are left alone.
 *
 * Of a process `status` is read, not `stat`.  A process can stay in the middle
 * of execve(2) for as long as it likes, and since Linux 6.18 `stat` does not
 * answer meanwhile (offline/process_maps.c).  So any user could keep us from
 * ending a command whose lease is lost.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "process_tree.h"

#define DEPTH_MAX 100000	/* of the tree */
#define CLIMBS 10		/* from a process to us */
#define PROCESSES_MAX 64	/* pidfds of strangers, of a quarter of ours */

struct process {
	pid_t pid, parent, group;
	long threads;
	char state;
	bool ours;
};

struct process_list {
	struct process *all;
	size_t n, room;
};

struct stranger {
	pid_t pid;
	int process;		/* a pidfd; -1: none */
};

static struct stranger *strangers;	/* at process_tree_begin() */
static size_t n_strangers;

static int
open_process(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Returns 1; 0: the process is gone; -errno: it cannot be read. */
static int
read_process(pid_t pid, struct process *p)
{
	char path[64], line[128];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ?
		    -errno : 0;
	*p = (struct process){ .pid = pid, .group = getpgid(pid) };
	while (p->threads == 0 && fgets(line, sizeof(line), f) != NULL) {
		(void)sscanf(line, "State: %c", &p->state);
		(void)sscanf(line, "PPid: %d", &p->parent);
		(void)sscanf(line, "Threads: %ld", &p->threads);
	}
	(void)fclose(f);
	return p->threads > 0;
}

/* In a new pid namespace /proc may still be that of the old one, whose pids
 * name other processes. */
static bool
is_proc_ours(void)
{
	char self[32];
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	if (n <= 0)
		return false;
	self[n] = '\0';
	return strtol(self, NULL, 10) == getpid();
}

static bool
make_room(struct process_list *pic)
{
	size_t room = pic->room == 0 ? 256 : 2 * pic->room;
	struct process *all;

	if (pic->n < pic->room)
		return true;
	all = reallocarray(pic->all, room, sizeof(*all));
	if (all == NULL)
		return false;
	pic->all = all;
	pic->room = room;
	return true;
}

static int
read_all_processes(struct process_list *pic)
{
	struct dirent *d;
	int found = 0;
	char *end;
	long pid;
	DIR *dir;

	if (!is_proc_ours())
		return -ESRCH;
	dir = opendir("/proc");
	if (dir == NULL)
		return -errno;
	while (found >= 0 && (d = readdir(dir)) != NULL) {
		pid = strtol(d->d_name, &end, 10);
		if (*end != '\0' || pid <= 0)
			continue;
		if (!make_room(pic)) {
			(void)closedir(dir);
			return -ENOMEM;
		}
		found = read_process((pid_t)pid, &pic->all[pic->n]);
		pic->n += found > 0;
	}
	(void)closedir(dir);
	return found < 0 ? found : 0;
}

static int
compare_pid(const void *a, const void *b)
{
	pid_t x = ((const struct process *)a)->pid;
	pid_t y = ((const struct process *)b)->pid;

	return (x > y) - (x < y);
}

static bool
is_stranger(pid_t pid)
{
	for (size_t i = 0; i < n_strangers; i++)
		if (strangers[i].pid == pid && (strangers[i].process < 0 ||
		    syscall(SYS_pidfd_send_signal, strangers[i].process, 0,
		    NULL, 0) == 0 || errno != ESRCH))
			return true;
	return false;
}

/* Marks the descendants.  Pids wrap, so a child's pid may be the smaller one:
 * repeats until a pass finds no more. */
static void
mark_descendants(struct process_list *pic)
{
	struct process want = { 0 }, *parent;
	pid_t me = getpid();
	bool found = true;
	size_t i;

	qsort(pic->all, pic->n, sizeof(want), compare_pid);
	while (found) {
		found = false;
		for (i = 0; i < pic->n; i++) {
			struct process *p = &pic->all[i];

			if (p->ours || p->pid == me || is_stranger(p->pid))
				continue;
			want.pid = p->parent;
			parent = bsearch(&want, pic->all, pic->n, sizeof(want),
			    compare_pid);
			if (p->parent != me &&
			    (parent == NULL || !parent->ours))
				continue;
			p->ours = true;
			found = true;
		}
	}
}

/* True if the parents lead from the process to us.  *gone: one of them is no
 * more, so its children have another parent by now. */
static bool
leads_here(pid_t pid, bool *gone)
{
	pid_t me = getpid();
	struct process p;

	for (int i = 0; i < DEPTH_MAX && pid != me && !*gone; i++) {
		if (is_stranger(pid) || pid <= 1)
			return false;
		*gone = read_process(pid, &p) <= 0;
		pid = p.parent;
	}
	return pid == me && !*gone;
}

static bool
is_descendant(pid_t pid)
{
	bool found = false, gone = true;

	for (int i = 0; i < CLIMBS && gone; i++) {
		gone = false;
		found = leads_here(pid, &gone);
	}
	return found;
}

static void
signal_one(const struct process *p, int sig)
{
	int fd = open_process(p->pid);

	if (is_descendant(p->pid) && (fd < 0 ||
	    (syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) != 0 &&
	    errno == ENOSYS)))
		(void)kill(p->pid, sig);
	if (fd >= 0)
		(void)close(fd);
}

static bool
is_dead(const struct process *p)
{
	return p->state == 'X' || (p->state == 'Z' && p->threads <= 1);
}

void
process_tree_begin(void)
{
	struct process_list before = { 0 };
	size_t most = PROCESSES_MAX;
	struct rlimit limit;
	int status;

	if (waitpid(-1, &status, WNOHANG) < 0)
		return;			/* no children: the usual case */
	if (read_all_processes(&before) == 0)
		mark_descendants(&before);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur / 4 < most)
		most = (size_t)(limit.rlim_cur / 4);
	strangers = calloc(before.n, sizeof(*strangers));
	for (size_t i = 0; strangers != NULL && i < before.n; i++) {
		pid_t pid = before.all[i].pid;

		if (!before.all[i].ours)
			continue;
		strangers[n_strangers] = (struct stranger){ pid,
			n_strangers < most ? open_process(pid) : -1 };
		n_strangers++;
	}
	free(before.all);
}

int
process_tree_signal(int sig, pid_t group)
{
	struct process_list pic = { 0 };
	int n = 0, e;
	size_t i;

	e = read_all_processes(&pic);
	if (e == 0)
		mark_descendants(&pic);
	for (i = 0; e == 0 && i < pic.n; i++) {
		const struct process *p = &pic.all[i];

		if (!p->ours || is_dead(p) || (group != 0 &&
		    p->group != group))
			continue;
		if (sig != 0)
			signal_one(p, sig);
		n++;
	}
	free(pic.all);
	return e != 0 ? e : n;
}
