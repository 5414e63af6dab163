/* SPDX-License-Identifier: MIT */
/*
 * Reads /proc/PID/status.
 *
 * execve(2) first takes all memory from a process, but for a stack in which
 * nothing but the new program's arguments are.  Then it closes descriptors.
 * One of a file system that never answers stops it there, for ever if somebody
 * wants that.  Meanwhile the kernel answers nobody who asks for the mappings of
 * the process, nor for many other files in /proc, `stat` among them since Linux
 * 6.18.  But `status` answers, and shows that state: all memory is stack.  No
 * file can be mapped as stack (MAP_GROWSDOWN is refused).
 *
 * A program can bring its memory into that state as well, and run in it.  Then
 * it has several threads, or runs, or its count of switches changes.
 *
 * The kernel also waits, before it changes the memory, for all who have locked
 * the old one.  Another process that shares it can lock it for ever.  Then the
 * old memory is shown, and state D.  So `stat` is not asked of a process with
 * one thread in that state either.
 *
 * A process may begin with execve(2) just after it was asked.  So this only
 * spares those who ask for `stat` a wait that is not meant for them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/procstatus.h"

#define BUFFER_LEN 2048		/* longer lines (groups) are left out */

static bool
read_number(const char *line, const char *name, uint64_t *n)
{
	size_t len = strlen(name);

	if (strncmp(line, name, len) != 0 || line[len] != ':')
		return false;
	*n = strtoull(line + len + 1, NULL, 10);
	return true;
}

static void
parse_line(const char *line, struct lhi_procstatus *s)
{
	uint64_t n;
	char *end;

	if (strncmp(line, "State:\t", 7) == 0) {
		s->state = line[7];
	} else if (strncmp(line, "Uid:", 4) == 0) {
		end = (char *)(uintptr_t)line + 4;
		for (int i = 0; i < PROCSTATUS_UIDS; i++)
			s->uid[i] = strtoull(end, &end, 10);
	} else if (read_number(line, "VmSize", &s->memory_kb)) {
		s->has_memory = true;
	} else if (read_number(line, "voluntary_ctxt_switches", &n) ||
	    read_number(line, "nonvoluntary_ctxt_switches", &n)) {
		s->switches += n;
	} else {
		(void)(read_number(line, "Threads", &s->threads) ||
		    read_number(line, "PPid", &s->parent) ||
		    read_number(line, "VmStk", &s->stack_kb) ||
		    read_number(line, "VmData", &s->data_kb));
	}
}

static void
parse_file(int fd, struct lhi_procstatus *s)
{
	char text[BUFFER_LEN + 1], *line, *end;
	size_t kept = 0;
	ssize_t n;

	/* ends: at the end of the file */
	while ((n = read(fd, text + kept, BUFFER_LEN - kept)) > 0) {
		text[kept + (size_t)n] = '\0';
		for (line = text; (end = strchr(line, '\n')) != NULL;
		    line = end + 1) {
			*end = '\0';
			parse_line(line, s);
		}
		kept = strlen(line);
		if (kept == BUFFER_LEN)
			kept = 0;
		memmove(text, line, kept);
	}
}

bool
lhi_procstatus_read(pid_t pid, struct lhi_procstatus *s)
{
	char path[32];
	int fd;

	*s = (struct lhi_procstatus){ .state = '\0' };
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	parse_file(fd, s);
	(void)close(fd);
	return s->state != '\0' && s->threads > 0;
}

static bool
has_only_stack(const struct lhi_procstatus *s)
{
	return s->has_memory && s->memory_kb == s->stack_kb &&
	    s->data_kb == 0 && s->threads == 1;
}

bool
lhi_procstatus_is_in_exec(const struct lhi_procstatus *s)
{
	return has_only_stack(s) && s->state != 'R';
}

bool
lhi_procstatus_may_stall(const struct lhi_procstatus *s)
{
	return has_only_stack(s) || (s->has_memory && s->threads == 1 &&
	    s->state == 'D');
}
