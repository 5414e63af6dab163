/* SPDX-License-Identifier: MIT */
/*
 * Asks which processes have a file mapped.
 *
 * All threads of a process that have memory have the same.  So the first such
 * thread gives the answer.  These are answers:
 *
 *	a list of mappings		the file is in it, or it is not
 *	an empty list of a thread	it maps nothing: a process may have
 *	with memory			unmapped all that it had
 *	every thread has ended, or the	it maps nothing
 *	process is the kernel's
 *
 * A thread that has ended has no list, or an empty one, or one that ends with
 * ESRCH.  It says nothing about the process, because another thread may live.
 * /proc/PID/task/TID/exe tells an empty list of memory from that of a thread
 * that has ended: it is read through the memory (prim/process_end.c).  Threads
 * may come and go faster than they are looked at, so this is tried often.
 *
 * A process that may not be examined gives no answer.
 *
 * A process in the middle of execve(2) has no file mapped (base/procstatus.h),
 * and may not answer.  Of its other files `fdinfo` can be read, but not if it
 * has an epoll descriptor that is just being changed.  So only a child looks
 * (look_child.c), and does not ask twice what did not answer.
 *
 * File systems differ in the device that /proc/PID/maps names (btrfs has a
 * device for each subvolume, which only stat(2) shows). So the file is mapped
 * here first, to see how it is named.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/procstat.h"
#include "base/procstatus.h"
#include "offline/look_child.h"
#include "offline/process_maps.h"
#include "offline/processes.h"
#include "prim/process_end.h"

#define TRIES 500		/* of a process whose threads come and go */
#define MAP_LEN 4096
#define PATH_LEN 80
#define PF_KTHREAD 0x200000u	/* the kernel's own; proc(5) has the field */

struct map_line {
	unsigned long first;
	dev_t dev;
	unsigned long long ino;
};

static bool
parse_map(const char *line, struct map_line *m)
{
	unsigned major, minor;

	if (sscanf(line, "%lx-%*x %*s %*s %x:%x %llu", &m->first, &major,
	    &minor, &m->ino) != 4)
		return false;
	m->dev = makedev(major, minor);
	return true;
}

bool
lhi_process_thread_has_memory(const char *task)
{
	char path[PATH_LEN], to[4];

	(void)snprintf(path, sizeof(path), "%s/exe", task);
	return readlink(path, to, sizeof(to)) >= 0 || errno == ENAMETOOLONG;
}

/* Returns 1 if that thread's mappings have the file, 0 if they have not;
 * -ENODATA: it has ended; -errno. */
static int
read_maps(const struct lhi_maps_name *name, const char *task)
{
	char path[PATH_LEN], *line = NULL;
	int found = -ENODATA, error = 0;
	struct map_line m;
	size_t size = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/maps", task);
	f = fopen(path, "re");
	if (f == NULL)
		return errno == ENOENT || errno == ESRCH ? -ENODATA : -errno;
	while (errno = 0, found != 1 && getline(&line, &size, f) > 0) {
		lhi_look_step();
		found = parse_map(line, &m) && m.ino == name->ino &&
		    m.dev == name->dev;
	}
	if (found != 1 && ferror(f))
		error = errno == ESRCH ? -ENODATA : errno != 0 ? -errno : -EIO;
	free(line);
	(void)fclose(f);
	if (error == 0 && found == -ENODATA &&
	    lhi_process_thread_has_memory(task))
		return 0;
	return error != 0 ? error : found;
}

enum lhi_process_way
lhi_process_way(pid_t pid, struct lhi_procstatus *s)
{
	bool seen = lhi_procstatus_read(pid, s);

	if (seen && lhi_procstatus_is_in_exec(s))
		return PROCESS_IN_EXEC;
	return seen && lhi_look_times_stuck(pid) > 0 ? PROCESS_NOT_AT_ALL :
	    PROCESS_FREELY;
}

struct maps_look {
	const struct lhi_maps_name *name;
	int found;
};

static bool
look_at_maps(const char *task, pid_t tid, void *arg)
{
	struct maps_look *l = arg;

	(void)tid;
	l->found = read_maps(l->name, task);
	return l->found != -ENODATA;
}

bool
lhi_process_has_no_memory(pid_t pid)
{
	struct lhi_procstat ps;
	char path[PATH_LEN];

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (access(path, F_OK) != 0 && errno == ENOENT)
		return true;
	return lhi_procstat_read(pid, 0, &ps) && (ps.flags & PF_KTHREAD ||
	    lhi_process_has_ended(pid, ps.start_ticks));
}

int
lhi_process_maps(pid_t pid, const struct lhi_maps_name *name)
{
	struct maps_look l = { name, -ENODATA };

	for (int i = 0; i < TRIES; i++) {
		if (lhi_processes_each_thread(pid, look_at_maps, &l))
			return l.found;
		if (lhi_process_has_no_memory(pid))
			return 0;
	}
	return -EAGAIN;
}

bool
lhi_process_maps_learn(struct lhi_maps_name *name, int fd)
{
	void *at = mmap(NULL, MAP_LEN, PROT_READ, MAP_SHARED, fd, 0);
	FILE *f = fopen("/proc/thread-self/maps", "re");
	struct map_line m;
	bool found = false;
	char *line = NULL;
	size_t size = 0;

	while (f != NULL && at != MAP_FAILED && !found &&
	    getline(&line, &size, f) > 0)
		found = parse_map(line, &m) && m.first == (uintptr_t)at;
	name->dev = found ? m.dev : 0;
	name->ino = found ? m.ino : 0;
	free(line);
	if (f != NULL)
		(void)fclose(f);
	if (at != MAP_FAILED)
		(void)munmap(at, MAP_LEN);
	return found && name->ino != 0;
}
