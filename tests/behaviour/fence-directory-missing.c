/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2: fence directories that do not exist, and paths that are none:
 * lh_open() makes or refuses them, with a sentence that names the path.  When a
 * directory disappears under a table, scope local fails with -EIO, scope
 * ephemeral goes on, and both work again when it is back.
 *
 * Otherwise a missing directory would give tokens that are not on disk, or stop
 * keys that need none.
 */
#include "fence.h"

static const char *table;

static void
refused(const char *dir, int want, const char *what)
{
	struct lh_open_opts o = fence_opts();
	struct lh *lh = NULL;

	o.fence_dir = dir;
	is(lh_open(&lh, table, &o), want, "%s: refused", what);
	ok(strstr(lh_error_detail(), dir[0] == '\0' ? "''" : dir) != NULL ||
	    want == -ENAMETOOLONG, "%s: the path is named", what);
	ok(lh == NULL && access(t_object(table), F_OK) != 0, "%s: no table",
	    what);
}

static void
paths(void)
{
	char path[400], fresh[400], longest[400];
	struct stat st;
	struct lh *lh;
	struct lh_open_opts o = fence_opts();
	FILE *f;

	refused("", -EINVAL, "an empty path");
	refused("relative/path", -EINVAL, "a relative path");
	memset(longest, 'x', sizeof(longest));
	longest[0] = '/';
	longest[256] = '\0';
	refused(longest, -ENAMETOOLONG, "a path that is too long");
	refused("/nowhere/at/all", -ENOENT, "two levels missing");
	refused("/proc/nothing", -ENOENT, "where nothing can be made");
	snprintf(path, sizeof(path), "%s/file", fence_dir());
	f = fopen(path, "w");
	fclose(f);
	refused(path, -ENOTDIR, "a file");
	snprintf(fresh, sizeof(fresh), "%s/fresh", fence_dir());
	o.fence_dir = fresh;
	is(lh_open(&lh, table, &o), 0, "one level missing is made");
	is(lh_close(lh), 0, "closed");
	unlink(t_object(table));
	ok(stat(fresh, &st) == 0 && (st.st_mode & 07777) == 0700,
	    "for its owner alone");
	snprintf(path, sizeof(path), "%s/fresh/leasehold.%u.%s.fence",
	    fence_dir(), (unsigned)geteuid(), table);
	ok(stat(path, &st) == 0 && (st.st_mode & 07777) == 0700,
	    "and the table's in it");
	fence_wipe(path);
	is(symlink("/tmp", path), 0, "in its place a link");
	refused(o.fence_dir, -ENOTDIR, "it is not followed");
	unlink(path);
}

static void
gone(void)
{
	struct lh *lh = fence_open(table), *other;
	uint64_t last = 0, token;

	fence_larger(lh, "k", &last, "a table");
	fence_wipe(fence_ranges(table));
	other = fence_open(table);
	is(fence_token(other, "k", LH_LOCAL, &token), -EIO,
	    "without the directory local is refused");
	ok(strstr(lh_error_detail(), fence_ranges(table)) != NULL,
	    "naming it");
	ok(strstr(lh_error_detail(), "create it again") != NULL,
	    "and what to do");
	is(fence_token(other, "new", LH_LOCAL, &token), -EIO,
	    "for other keys as well");
	is(fence_token(other, "k", LH_EPHEMERAL, &token), 0,
	    "ephemeral goes on");
	cmp(token, >, last, "with a larger token");
	last = token;
	is(fence_token(other, "else", LH_EPHEMERAL, &token), 0,
	    "for other keys too");
	ok(access(fence_ranges(table), F_OK) != 0,
	    "nobody but a maker of tables makes it");
	is(t_findings(other), -EIO, "which a check tells: no damage");
	ok(strstr(lh_error_detail(), fence_ranges(table)) != NULL,
	    "and names the directory");
	is(mkdir(fence_ranges(table), 0700), 0, "it is made again");
	is(t_findings(other), 0, "empty, and a range can be claimed");
	t_close(fence_open(table));
	is(t_findings(other), 0, "one is claimed");
	fence_larger(other, "k", &last, "then local is back");
	fence_larger(lh, "k", &last, "for all");
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	table = t_table();
	paths();
	gone();
	return done();
}
