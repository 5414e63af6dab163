/* SPDX-License-Identifier: MIT */
/* Reads /proc/PID/stat: see procstat.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/freezer.h"
#include "base/procstat.h"
#include "base/procstatus.h"

#define STATE_TO_FLAGS 6	/* fields from the state to the flags */
#define FLAGS_TO_START 13	/* and from there to the start time */
#define TASK_READS 64		/* most reads of the list of threads */
#define THREADS_ASKED 64	/* most threads asked whether they run */
#define STALL_LOOKS 4		/* 1 ms apart, while it waits for a disk */

static const char *
skip_fields(const char *p, int n)
{
	while (p != NULL && n-- > 0)
		p = strchr(p + 1, ' ');
	return p;
}

/* Parses "1 (any (name) at all) S 0 1 ...".  The name ends at the last
 * parenthesis. */
static bool
parse_stat(const char *text, struct lhi_procstat *ps)
{
	const char *p = strrchr(text, ')');

	if (p == NULL || p[1] != ' ' || p[2] == '\0')
		return false;
	p += 2;
	ps->pid = (pid_t)strtol(text, NULL, 10);
	ps->state = *p;
	ps->parent = (pid_t)strtol(p + 1, NULL, 10);
	p = skip_fields(p, STATE_TO_FLAGS);
	ps->flags = p == NULL ? 0 : (uint32_t)strtoul(p + 1, NULL, 10);
	p = skip_fields(p, FLAGS_TO_START);
	if (p == NULL)
		return false;
	ps->start_ticks = strtoull(p + 1, NULL, 10);
	return true;
}

bool
lhi_procstat_read_fd(int fd, struct lhi_procstat *ps)
{
	char text[512];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return parse_stat(text, ps);
}

/* Reads a file `stat`, at `path` in the directory `dir` if that is relative. */
static bool
read_stat_at(int dir, const char *path, struct lhi_procstat *ps)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	bool seen = fd >= 0 && lhi_procstat_read_fd(fd, ps);

	if (fd >= 0)
		(void)close(fd);
	return seen;
}

static bool
read_stat(const char *path, struct lhi_procstat *ps)
{
	return read_stat_at(AT_FDCWD, path, ps);
}

/* Calls fn() for each thread of the process that has not ended, until fn()
 * returns false.  Leaves threads out if there are very many. */
static void
walk_threads(pid_t pid, bool (*fn)(pid_t pid, pid_t tid,
    const struct lhi_procstat *thread, void *arg), void *arg)
{
	union {
		struct dirent64 first;
		char bytes[4096];
	} list;
	char path[64];
	ssize_t n;
	int dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; dir >= 0 && i < TASK_READS && (n = getdents64(dir,
	    list.bytes, sizeof(list))) > 0; i++) {
		const struct dirent64 *d;

		for (ssize_t at = 0; at < n; at += d->d_reclen) {
			struct lhi_procstat thread;
			int tid;

			d = (const struct dirent64 *)(list.bytes + at);
			tid = atoi(d->d_name);
			(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/"
			    "stat", (int)pid, tid);
			if (d->d_name[0] == '.' || !read_stat(path, &thread) ||
			    strchr("ZX", thread.state) != NULL)
				continue;
			if (!fn(pid, tid, &thread, arg))
				goto found;
		}
	}
found:
	if (dir >= 0)
		(void)close(dir);
}

/* Finds the state of a process whose first thread has ended.  It looks like a
 * zombie while other threads run.  Its state is that of a live thread,
 * preferably one that is not stopped. */
static bool
take_state(pid_t pid, pid_t tid, const struct lhi_procstat *thread, void *arg)
{
	struct lhi_procstat *ps = arg;

	(void)pid;
	(void)tid;
	ps->state = thread->state;
	return strchr("Tt", thread->state) != NULL;
}

struct running {
	int asked;
	bool found;
};

/* Returns whether the next thread is to be asked, because this one does not
 * run. */
static bool
is_idle(pid_t pid, pid_t tid, const struct lhi_procstat *thread, void *arg)
{
	struct running *r = arg;

	r->found = strchr("RSD", thread->state) != NULL &&
	    lhi_freezer_ask(pid, tid, thread->state) == FROZEN_NO;
	return !r->found && ++r->asked < THREADS_ASKED;
}

/* (Most waits for a disk are short, so it is asked again.) */
bool
lhi_procstat_may_stall(pid_t pid, struct lhi_procstatus *s)
{
	const struct timespec nap = { 0, 1000000 };

	for (int i = 0; i < STALL_LOOKS; i++) {
		if (i > 0)
			(void)nanosleep(&nap, NULL);
		if (!lhi_procstatus_read(pid, s) ||
		    !lhi_procstatus_may_stall(s))
			return false;
		if (s->state != 'D')
			break;
	}
	return true;
}

bool
lhi_procstat_read(pid_t pid, pid_t tid, struct lhi_procstat *ps)
{
	struct lhi_procstatus status;
	int saved = errno;
	char path[64];
	bool seen;

	if (lhi_procstat_may_stall(pid, &status)) {
		*ps = (struct lhi_procstat){ .pid = pid, .state = status.state,
		    .parent = (pid_t)status.parent };
		errno = saved;
		return status.state == 'D';
	}
	if (tid != 0)
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat",
		    (int)pid, (int)tid);
	else
		(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	seen = read_stat(path, ps);
	if (seen && tid == 0 && ps->state == 'Z')
		walk_threads(pid, take_state, ps);
	errno = saved;
	return seen;
}

bool
lhi_procstat_runs(pid_t pid, struct lhi_procstat *ps)
{
	struct running r = { 0, false };
	int saved = errno;

	if (lhi_procstat_read(pid, 0, ps) && is_idle(pid, pid, ps, &r))
		walk_threads(pid, is_idle, &r);
	errno = saved;
	return r.found;
}

bool
lhi_procstat_read_at(int task, pid_t tid, struct lhi_procstat *ps)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "%d/stat", (int)tid);
	return read_stat_at(task, path, ps);
}

bool
lhi_procstat_self(struct lhi_procstat *ps)
{
	return read_stat("/proc/self/stat", ps);
}
