/* SPDX-License-Identifier: MIT */
/* test: alone: it defines mmap() */
/*
 * Guarantees G1, G4: where a mapping of a file keeps another description open
 * than the one that was mapped, as on overlayfs, a session's lock ends with its
 * descriptor.  A table is neither made nor opened there: -EOPNOTSUPP, with
 * words that say what to do.  The test's own mmap(), which the library calls,
 * maps a new description of the file.
 *
 * Otherwise every living holder would count as dead, and its key would have a
 * second holder at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "support/support.h"
#include "tap.h"

static bool as_overlayfs;

static void *
map(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, off);
}

void *
mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	char self[40];
	struct stat st;
	void *mapped;
	int below;

	if (!as_overlayfs || fd < 0 || fstat(fd, &st) != 0 ||
	    st.st_size != 0)	/* a live file is empty */
		return map(addr, len, prot, flags, fd, off);
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	below = open(self, O_RDWR | O_CLOEXEC);
	mapped = map(addr, len, prot, flags, below, off);
	(void)close(below);
	return mapped;
}

static void
is_refused(int got, const char *what)
{
	is(got, -EOPNOTSUPP, "%s is refused", what);
	ok(strstr(lh_error_detail(), "through a mapping") != NULL &&
	    strstr(lh_error_detail(), "tmpfs") != NULL,
	    "and the words say why: %s", lh_error_detail());
}

int
main(void)
{
	const char *table = t_table(), *unmade = t_table();
	struct lh_open_opts o = t_open_opts();
	struct lh *lh = t_open(table), *other = NULL;
	struct lh_lease l = t_hold(lh, "k");

	as_overlayfs = true;
	is_refused(lh_open(&other, unmade, &o), "making a table");
	is(access(t_object(unmade), F_OK), -1, "none is there");
	is_refused(lh_open(&other, table, NULL), "opening one");
	o.flags |= LH_LIVENESS_FD;
	is_refused(lh_open(&other, table, &o), "with a second sign, too");
	ok(other == NULL, "there is no handle");
	as_overlayfs = false;
	is(lh_open(&other, table, NULL), 0, "elsewhere it is opened");
	is(lh_close(other), 0, "and closed");
	is(lh_verify(lh, &l), 0, "what was held is held");
	is(lh_release(lh, &l), 0, "and released");
	t_close(lh);
	return done();
}
