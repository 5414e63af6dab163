/* SPDX-License-Identifier: MIT */
/*
 * The freezer of control groups (docker pause, systemctl freeze): answers "can
 * this thread go on?".
 *
 * A frozen thread does not look like a stopped one: its state is S with version
 * 2 of control groups, D with version 1.  A thread that sleeps, or waits for a
 * disk, looks the same.  So its groups are asked, whose files everybody may
 * read:
 *
 *	version 2	cgroup.freeze is 1 in its group, or in one above it
 *	version 1	freezer.state is not THAWED (it knows those above)
 *
 * A group whose file says so counts as frozen from then on.  Its threads freeze
 * when they leave the kernel, and one that waits for a dead disk may never do
 * that.
 *
 * Sometimes the groups cannot be asked: there is no /sys/fs/cgroup, or it does
 * not show them.  Then the kernel's word where the thread waits decides, if it
 * may be read (wchan): a thread in state R, or in state S outside the freezer
 * of version 2, is not frozen.  Otherwise it is not known.  Without a control
 * group, or in the root of the hierarchy, nothing can be frozen.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "base/freezer.h"

#define CGROUP2_MAGIC 0x63677270
#define TEXT_MAX 4096
#define PATH_LEN (TEXT_MAX + 64)

/* The first bytes of a file, and a NUL: how many; -1: it cannot be read. */
static ssize_t
read_text(const char *path, char *text, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0) {
		n = read(fd, text, len - 1);
		(void)close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	return n;
}

/* Where version 2 is mounted; NULL: not in a usual place. */
static const char *
find_unified(void)
{
	static const char *const places[] = { "/sys/fs/cgroup",
	    "/sys/fs/cgroup/unified" };
	struct statfs fs;

	for (int i = 0; i < 2; i++) {
		if (statfs(places[i], &fs) == 0 && fs.f_type == CGROUP2_MAGIC)
			return places[i];
	}
	return NULL;
}

/* Asks that group of version 2, and those above it, up to the root. */
static enum lhi_frozen
ask_unified(const char *group)
{
	const char *root = find_unified();
	char path[PATH_LEN], text[8];
	size_t top;

	if (root == NULL)
		return strcmp(group, "/") == 0 ? FROZEN_NO : FROZEN_UNKNOWN;
	top = strlen(root);
	(void)snprintf(path, sizeof(path), "%s%s", root, group);
	if (access(path, F_OK) != 0)
		return FROZEN_UNKNOWN;
	for (;;) {
		size_t len = strlen(path);

		while (len > top && path[len - 1] == '/')
			len--;
		(void)snprintf(path + len, sizeof(path) - len, "%s",
		    "/cgroup.freeze");
		if (read_text(path, text, sizeof(text)) > 0) {
			if (text[0] != '0')
				return FROZEN_YES;
		} else if (len > top) {
			return FROZEN_UNKNOWN;
		}
		if (len <= top)
			return FROZEN_NO;	/* the root has no such file */
		path[len] = '\0';
		*strrchr(path, '/') = '\0';
	}
}

/* Asks that group of the freezer of version 1. */
static enum lhi_frozen
ask_freezer(const char *group)
{
	char path[PATH_LEN], text[16];

	if (strcmp(group, "/") == 0)
		return FROZEN_NO;
	(void)snprintf(path, sizeof(path), "/sys/fs/cgroup/freezer%s/"
	    "freezer.state", group);
	if (read_text(path, text, sizeof(text)) <= 0)
		return FROZEN_UNKNOWN;
	return strncmp(text, "THAWED", 6) == 0 ? FROZEN_NO : FROZEN_YES;
}

/* "ID:CONTROLLERS:PATH": asks the group that the line is about, if it is one
 * that can freeze. */
static enum lhi_frozen
ask_group(char *line)
{
	char *controllers = strchr(line, ':'), *group;

	group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
	if (group == NULL)
		return FROZEN_UNKNOWN;
	*group++ = '\0';
	controllers++;
	if (*controllers != '\0' && strcmp(controllers, "freezer") != 0)
		return strstr(controllers, "freezer") != NULL ?
		    FROZEN_UNKNOWN : FROZEN_NO;
	/* a group outside of our namespace, or one that was removed */
	if (strncmp(group, "/..", 3) == 0 || strstr(group, " (deleted)"))
		return FROZEN_UNKNOWN;
	return *controllers == '\0' ? ask_unified(group) : ask_freezer(group);
}

/* Asks all groups of the thread: one that freezes it is enough. */
static enum lhi_frozen
ask_groups(pid_t pid, pid_t tid)
{
	char path[64], text[TEXT_MAX], *line, *rest = text;
	enum lhi_frozen all = FROZEN_NO;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/cgroup", (int)pid,
	    (int)tid);
	n = read_text(path, text, sizeof(text));
	if (n < 0)		/* a kernel without them has no such file */
		return errno == ENOENT && access("/proc/self/cgroup", F_OK) !=
		    0 ? FROZEN_NO : FROZEN_UNKNOWN;
	if (n == sizeof(text) - 1)
		return FROZEN_UNKNOWN;
	while ((line = strsep(&rest, "\n")) != NULL) {
		enum lhi_frozen one = *line == '\0' ? FROZEN_NO :
		    ask_group(line);

		if (one == FROZEN_YES)
			return FROZEN_YES;
		if (one == FROZEN_UNKNOWN)
			all = FROZEN_UNKNOWN;
	}
	return all;
}

/* By where the thread waits in the kernel. */
static enum lhi_frozen
ask_wchan(pid_t pid, pid_t tid, char state)
{
	char path[64], where[64];

	if (state == 'R')
		return FROZEN_NO;
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/wchan", (int)pid,
	    (int)tid);
	if (state != 'S' || read_text(path, where, sizeof(where)) <= 0 ||
	    strcmp(where, "0") == 0)
		return FROZEN_UNKNOWN;
	return strcmp(where, "get_signal") == 0 ||
	    strcmp(where, "do_freezer_trap") == 0 ? FROZEN_YES : FROZEN_NO;
}

enum lhi_frozen
lhi_freezer_ask(pid_t pid, pid_t tid, char state)
{
	int saved = errno;
	enum lhi_frozen frozen = ask_groups(pid, tid);

	if (frozen == FROZEN_UNKNOWN)
		frozen = ask_wchan(pid, tid, state);
	errno = saved;
	return frozen;
}
