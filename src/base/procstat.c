/* SPDX-License-Identifier: MIT */
/* Processes as /proc shows them: see procstat.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/procstat.h"

#define STATE_TO_START 19	/* fields from the state to the start time */

/* "1 (any (name) at all) S 0 1 ...": the name is the last parenthesis's. */
static bool
parse_stat(const char *text, struct lhi_procstat *ps)
{
	const char *p = strrchr(text, ')');

	if (p == NULL || p[1] != ' ' || p[2] == '\0')
		return false;
	p += 2;
	ps->state = *p;
	for (int i = 0; i < STATE_TO_START && p != NULL; i++)
		p = strchr(p + 1, ' ');
	if (p == NULL)
		return false;
	ps->start_ticks = strtoull(p + 1, NULL, 10);
	return true;
}

bool
lhi_procstat_read(pid_t pid, pid_t tid, struct lhi_procstat *ps)
{
	char path[64], text[512];
	int saved = errno, fd;
	ssize_t n = -1;

	if (tid != 0)
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat",
		    (int)pid, (int)tid);
	else
		(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		(void)close(fd);
	}
	errno = saved;
	text[n > 0 ? n : 0] = '\0';
	return parse_stat(text, ps);
}

uint64_t
lhi_procstat_start(void)
{
	static _Atomic pid_t whose;	/* a forked child is another */
	static _Atomic uint64_t start;
	struct lhi_procstat ps;

	if (atomic_load(&whose) == getpid())
		return atomic_load(&start);
	if (!lhi_procstat_read(getpid(), 0, &ps))
		return 0;
	atomic_store(&start, ps.start_ticks);
	atomic_store(&whose, getpid());
	return ps.start_ticks;
}

uint64_t
lhi_procstat_pidns(void)
{
	int saved = errno;
	struct stat st;
	bool seen = stat("/proc/self/ns/pid", &st) == 0;

	errno = saved;
	return seen ? st.st_ino : 0;
}
