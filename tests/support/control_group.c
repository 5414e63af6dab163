/* SPDX-License-Identifier: MIT */
/* A control group that can be frozen: see control_group.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "support/control_group.h"
#include "support/support.h"
#include "tap.h"

static const struct kind {
	const char *root, *file, *freeze, *thaw;
} kinds[T_GROUP_KINDS] = {
	{ "/sys/fs/cgroup/unified", "cgroup.freeze", "1", "0" },
	{ "/sys/fs/cgroup", "cgroup.freeze", "1", "0" },
	{ "/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED" },
};

const char *const t_group_kinds[T_GROUP_KINDS] = { "version 2",
    "version 2 alone", "version 1" };

static struct {
	const struct kind *kind;
	char path[100];
	int dir;
	pid_t maker;
} group = { .dir = -1 };

static bool
put_text(const char *file, const char *text)
{
	int fd = openat(group.dir, file, O_WRONLY | O_CLOEXEC);
	bool put = fd >= 0 && write(fd, text, strlen(text)) ==
	    (ssize_t)strlen(text);

	if (fd >= 0)
		(void)close(fd);
	return put;
}

static bool
is_text_in(int dir, const char *path, const char *text)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	char all[512];
	ssize_t n = fd < 0 ? -1 : read(fd, all, sizeof(all) - 1);

	if (fd >= 0)
		(void)close(fd);
	all[n > 0 ? n : 0] = '\0';
	return strstr(all, text) != NULL;
}

/* A frozen process would outlive the test. */
__attribute__((destructor)) void
t_group_remove(void)
{
	if (group.dir < 0 || group.maker != getpid())
		return;
	t_group_thaw();
	(void)close(group.dir);
	group.dir = -1;
	for (int i = 0; i < 100 && rmdir(group.path) != 0 && errno == EBUSY;
	    i++)
		t_sleep_ms(10);
}

bool
t_group_make(int kind)
{
	group.kind = &kinds[kind];
	group.maker = getpid();
	snprintf(group.path, sizeof(group.path), "%s/lh-test-%d",
	    group.kind->root, (int)getpid());
	if (mkdir(group.path, 0755) == 0) {
		group.dir = open(group.path,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (faccessat(group.dir, group.kind->file, W_OK, 0) == 0)
			return true;
		t_group_remove();
	}
	diag("no group of %s can be made here", t_group_kinds[kind]);
	return false;
}

void
t_group_enter(pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)pid);
	if (!put_text("cgroup.procs", text))
		bail_out("no process can enter %s: %s", group.path,
		    strerror(errno));
}

bool
t_in_kernel(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	return is_text_in(AT_FDCWD, path, ") D ");
}

static bool
is_frozen(pid_t pid)
{
	return group.kind->freeze[0] == '1' ?
	    is_text_in(group.dir, "cgroup.events", "frozen 1") :
	    t_in_kernel(pid);
}

bool
t_group_freeze(pid_t pid)
{
	return put_text(group.kind->file, group.kind->freeze) &&
	    t_until(T_HANG_MS, is_frozen(pid));
}

void
t_group_thaw(void)
{
	(void)put_text(group.kind->file, group.kind->thaw);
}
