/* SPDX-License-Identifier: MIT */
/* Fixtures of tests of scope local: fence directories, and tables with one. */
#ifndef TESTS_FENCE_H
#define TESTS_FENCE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define FENCE_PATH 200

/* Empty a directory of directories of files, and remove it. */
TAP_UNUSED static void
fence_wipe(const char *path)
{
	char sub[FENCE_PATH + 300];
	struct dirent *e;
	DIR *d = opendir(path);

	while (d != NULL && (e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		snprintf(sub, sizeof(sub), "%s/%s", path, e->d_name);
		if (unlink(sub) != 0 && strlen(path) < FENCE_PATH)
			fence_wipe(sub);
	}
	if (d != NULL)
		closedir(d);
	(void)rmdir(path);
}

static char fence_path[FENCE_PATH];
static pid_t fence_maker;

__attribute__((destructor)) static void
fence_end(void)
{
	if (fence_maker == getpid())
		fence_wipe(fence_path);
}

/* The test's fence directory, which exists; removed at the end. */
TAP_UNUSED static const char *
fence_dir(void)
{
	if (fence_path[0] == '\0') {
		snprintf(fence_path, sizeof(fence_path), "/tmp/lh-fence.%d",
		    (int)getpid());
		fence_wipe(fence_path);	/* of a killed test of that pid */
		if (mkdir(fence_path, 0700) != 0)
			bail_out("%s: %s", fence_path, strerror(errno));
		fence_maker = getpid();
	}
	return fence_path;
}

/* The directory of a table's ranges in there. */
TAP_UNUSED static const char *
fence_ranges(const char *table)
{
	static char path[FENCE_PATH + 100];

	snprintf(path, sizeof(path), "%s/leasehold.%u.%s.fence", fence_dir(),
	    (unsigned)geteuid(), table);
	return path;
}

/* Options of a table that uses it; its tokens begin low. */
TAP_UNUSED static struct lh_open_opts
fence_opts(void)
{
	struct lh_open_opts o = t_open_opts();

	o.fence_dir = fence_dir();
	o.flags = LH_NO_CLOCK_FLOOR;
	return o;
}

TAP_UNUSED static struct lh *
fence_open(const char *table)
{
	struct lh_open_opts o = fence_opts();
	struct lh *lh;

	if (lh_open(&lh, table, &o) != 0)
		bail_out("lh_open: %s", lh_error_detail());
	return lh;
}

/* Try in that scope: what lh_acquire() says; the token, the key being free
 * again. */
TAP_UNUSED static int
fence_token(struct lh *lh, const char *key, uint32_t scope, uint64_t *token)
{
	struct lh_acquire_opts a = t_opts(3600000, 0);
	struct lh_lease l;
	int error;

	a.scope = scope;
	error = lh_acquire(lh, key, &a, &l);
	if (error == 0) {
		*token = l.token;
		error = lh_release(lh, &l);
	}
	return error;
}

/* The same, in scope local, and it must succeed with a larger one. */
TAP_UNUSED static void
fence_larger(struct lh *lh, const char *key, uint64_t *last, const char *what)
{
	uint64_t token = 0;

	is(fence_token(lh, key, LH_LOCAL, &token), 0, "%s: granted", what);
	cmp(token, >, *last, "%s: with a larger token", what);
	*last = token;
}

/* How many ranges are there, and which is the highest? */
TAP_UNUSED static int
fence_count(const char *table, uint64_t *highest)
{
	DIR *d = opendir(fence_ranges(table));
	struct dirent *e;
	int n = 0;

	*highest = 0;
	while (d != NULL && (e = readdir(d)) != NULL) {
		uint64_t is = strtoull(e->d_name, NULL, 10);

		n += is > 0;
		if (is > *highest)
			*highest = is;
	}
	if (d != NULL)
		closedir(d);
	return n;
}

/* That table, and its key k, opened, used so often, and left idle.  The last
 * token. */
TAP_UNUSED static uint64_t
fence_idle(const char *table, int uses, struct lh **lh, struct lh_key **k)
{
	struct lh_lease l = { 0 };

	*lh = fence_open(table);
	is(lh_key_open(*lh, "k", 0, k), 0, "opened");
	for (int i = 0; i < uses; i++) {
		is(lh_key_acquire(*k, NULL, &l), 0, "used");
		is(lh_release(*lh, &l), 0, "and left idle");
	}
	return l.token;
}

/*
 * Removes the latest range's file, and claims the numbers after it as others
 * would: the next process that opens the table claims the range `by` further
 * on.  Returns its number.
 */
TAP_UNUSED static uint64_t
fence_gap(const char *table, uint64_t by)
{
	char path[FENCE_PATH + 200];
	uint64_t n;

	(void)fence_count(table, &n);
	snprintf(path, sizeof(path), "%s/%" PRIu64, fence_ranges(table), n);
	if (unlink(path) != 0)
		bail_out("%s: %s", path, strerror(errno));
	snprintf(path, sizeof(path), "%s/%" PRIu64, fence_ranges(table),
	    n + by - 1);
	(void)close(open(path, O_WRONLY | O_CREAT, 0600));
	return n + by;
}

#endif
