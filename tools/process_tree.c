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
 * parent, group and start time of every process that we may see, then follow
 * the parents.  The processes change meanwhile:
 *
 *	forked after it was read
 *		Missed; a caller that wants the tree to end repeats until
 *		no process is left.
 *	died, pid reused
 *		Its start time differs: not signalled.  A pidfd taken before
 *		that check names the same process after it; without pidfds
 *		(old kernel, valgrind) a moment remains between check and
 *		kill(2).
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
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "process_tree.h"

struct process {
	pid_t pid, parent, group;
	unsigned long long start;
	long threads;
	char state;
	bool ours;
};

struct process_list {
	struct process *all;
	size_t n, room;
};

static struct process_list before;	/* at process_tree_begin() */

/* Returns false if the process is gone. */
static bool
read_process(pid_t pid, struct process *p)
{
	char path[64], text[1024], *after;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	/*
	 * The name is in brackets and may itself contain brackets and blanks.
	 */
	after = strrchr(text, ')');
	memset(p, 0, sizeof(*p));
	p->pid = pid;
	return after != NULL && sscanf(after + 1, " %c %d %d %*d %*d %*d %*u "
	    "%*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d %llu", &p->state,
	    &p->parent, &p->group, &p->threads, &p->start) == 5;
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

static int
read_all_processes(struct process_list *pic)
{
	struct dirent *d;
	char *end;
	long pid;
	DIR *dir;

	if (!is_proc_ours())
		return -ESRCH;
	dir = opendir("/proc");
	if (dir == NULL)
		return -errno;
	while ((d = readdir(dir)) != NULL) {
		pid = strtol(d->d_name, &end, 10);
		if (*end != '\0' || pid <= 0)
			continue;
		if (pic->n == pic->room) {
			size_t room = pic->room == 0 ? 256 : 2 * pic->room;
			struct process *all;

			all = reallocarray(pic->all, room, sizeof(*all));
			if (all == NULL) {
				(void)closedir(dir);
				return -ENOMEM;
			}
			pic->all = all;
			pic->room = room;
		}
		if (read_process((pid_t)pid, &pic->all[pic->n]))
			pic->n++;
	}
	(void)closedir(dir);
	return 0;
}

static int
compare_pid(const void *a, const void *b)
{
	pid_t x = ((const struct process *)a)->pid;
	pid_t y = ((const struct process *)b)->pid;

	return (x > y) - (x < y);
}

static bool
is_stranger(const struct process *p)
{
	size_t i;

	for (i = 0; i < before.n; i++)
		if (before.all[i].ours && before.all[i].pid == p->pid &&
		    before.all[i].start == p->start)
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

			if (p->ours || p->pid == me || is_stranger(p))
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

static void
signal_one(const struct process *p, int sig)
{
	struct process now;
	int fd;

	fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	if (read_process(p->pid, &now) && now.start == p->start) {
		if (fd < 0 ||
		    syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) != 0)
			(void)kill(p->pid, sig);
	}
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
	int status;

	if (waitpid(-1, &status, WNOHANG) < 0)
		return;			/* no children: the usual case */
	if (read_all_processes(&before) == 0)
		mark_descendants(&before);
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
