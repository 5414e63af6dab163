/* SPDX-License-Identifier: MIT */
/* Reads /proc/PID/stat: see procstat.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/procstat.h"

#define STATE_TO_START 19	/* fields from the state to the start time */
#define TASK_READS 64		/* most reads of the list of threads */

/* Parses "1 (any (name) at all) S 0 1 ...".  The name ends at the last
 * parenthesis. */
static bool
parse_stat(const char *text, struct lhi_procstat *ps)
{
	const char *p = strrchr(text, ')');

	if (p == NULL || p[1] != ' ' || p[2] == '\0')
		return false;
	p += 2;
	ps->state = *p;
	ps->parent = (pid_t)strtol(p + 1, NULL, 10);
	for (int i = 0; i < STATE_TO_START && p != NULL; i++)
		p = strchr(p + 1, ' ');
	if (p == NULL)
		return false;
	ps->start_ticks = strtoull(p + 1, NULL, 10);
	return true;
}

static bool
read_stat(const char *path, struct lhi_procstat *ps)
{
	char text[512];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		(void)close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	return parse_stat(text, ps);
}

/* Finds the state of a process whose first thread has ended.  It looks like a
 * zombie while other threads run.  Its state is that of a live thread,
 * preferably one that is not stopped. */
static void
ask_other_threads(pid_t pid, struct lhi_procstat *ps)
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
			struct lhi_procstat other;

			d = (const struct dirent64 *)(list.bytes + at);
			(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/"
			    "stat", (int)pid, atoi(d->d_name));
			if (d->d_name[0] == '.' || !read_stat(path, &other) ||
			    strchr("ZX", other.state) != NULL)
				continue;
			ps->state = other.state;
			if (strchr("Tt", other.state) == NULL)
				goto found;
		}
	}
found:
	if (dir >= 0)
		(void)close(dir);
}

bool
lhi_procstat_read(pid_t pid, pid_t tid, struct lhi_procstat *ps)
{
	int saved = errno;
	char path[64];
	bool seen;

	if (tid != 0)
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat",
		    (int)pid, (int)tid);
	else
		(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	seen = read_stat(path, ps);
	if (seen && tid == 0 && ps->state == 'Z')
		ask_other_threads(pid, ps);
	errno = saved;
	return seen;
}

bool
lhi_procstat_self(struct lhi_procstat *ps)
{
	return read_stat("/proc/self/stat", ps);
}
