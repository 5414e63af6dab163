/* SPDX-License-Identifier: MIT */
/* Environments: a frozen control group, copies of the library. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <leasehold.h>
#include "env/more.h"

/* The version 2 hierarchy, wherever it is mounted. */
static const char *const roots[] = { "/sys/fs/cgroup/unified",
    "/sys/fs/cgroup" };

static int
write_number(const char *dir, const char *file, int n)
{
	char path[160], text[16];
	int fd, len = snprintf(text, sizeof(text), "%d", n);

	(void)snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, text, (size_t)len) == len ? 0 : -errno;
	(void)close(fd);
	return n;
}

int
more_freeze(bool only_probe)
{
	char dir[128];
	int e = -ENOENT;

	for (int i = 0; i < 2; i++) {
		(void)snprintf(dir, sizeof(dir), "%s/cgroup.procs", roots[i]);
		if (access(dir, W_OK) != 0)
			continue;
		(void)snprintf(dir, sizeof(dir), "%s/leasehold-env-%d",
		    roots[i], (int)getpid());
		e = mkdir(dir, 0755) != 0 ? -errno : 0;
		if (e == 0 && !only_probe)
			e = write_number(dir, "cgroup.procs", (int)getpid());
		if (e == 0 && !only_probe)
			e = write_number(dir, "cgroup.freeze", 1);
		if (only_probe || e != 0)
			(void)rmdir(dir);
		return e;
	}
	return e;
}

/* LEASEHOLD_LIBRARY beside the copy that this program is linked with. */
static int
use_copy(bool unload)
{
	const char *path = getenv("LEASEHOLD_LIBRARY");
	void *so = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*open_table)(struct lh **, const char *, const struct lh_open_opts
	    *), (*take)(struct lh *, const char *, const struct lh_acquire_opts
	    *, struct lh_lease *), (*close_table)(struct lh *);
	struct lh_lease l;
	struct lh *lh;
	int e;

	if (so == NULL)
		return -ENOENT;
	*(void **)&open_table = dlsym(so, "lh_open");
	*(void **)&take = dlsym(so, "lh_acquire");
	*(void **)&close_table = dlsym(so, "lh_close");
	e = open_table(&lh, NULL, NULL);
	if (e == 0)
		e = take(lh, unload ? "unloaded" : "copy", NULL, &l);
	if (e == 0 && unload) {
		e = close_table(lh);
		(void)dlclose(so);
	}
	return e;
}

int more_two_copies(void) { return use_copy(false); }
int more_unloaded_copy(void) { return use_copy(true); }
