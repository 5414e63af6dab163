/* SPDX-License-Identifier: MIT */
/*
 * Whose a fence directory may be.  Refused: one that everybody may write to, or
 * that is a stranger's: no table is made, and under a table whose header leads
 * there scope local fails with -EIO.  Root's is taken, and one of a group of
 * ours that may write.  Needs root, to be somebody else.
 */
#include <grp.h>
#include <sys/types.h>
#include "fence.h"

#define US	12345
#define THEM	23456
#define GROUP	34567

static const char *table;

static int
as_us(void *arg)
{
	struct lh_open_opts o = fence_opts();
	const gid_t groups[] = { GROUP };
	struct lh *lh = NULL;
	int error;

	(void)arg;
	if (setgroups(1, groups) != 0 || setresgid(US, US, US) != 0 ||
	    setresuid(US, US, US) != 0)
		return 255;
	error = lh_open(&lh, table, &o);
	if (error != 0 && strstr(lh_error_detail(), fence_dir()) == NULL)
		return 254;
	if (error == 0) {
		uint64_t token;

		error = fence_token(lh, "k", LH_LOCAL, &token);
		(void)lh_close(lh);
		unlink(t_object(table));
	}
	return -error;
}

static void
with(uid_t uid, gid_t gid, mode_t mode, int want, const char *what)
{
	char dir[400];

	snprintf(dir, sizeof(dir), "%s/leasehold.%d.%s.fence", fence_dir(), US,
	    table);
	fence_wipe(dir);
	if (mkdir(dir, 0700) != 0 || chown(dir, uid, gid) != 0 ||
	    chmod(dir, mode) != 0)
		bail_out("%s: %s", dir, strerror(errno));
	is(t_reap(t_fork(as_us, NULL), T_HANG_MS), -want, "%s", what);
	fence_wipe(dir);
}

static void
under_a_table(void)
{
	struct lh *lh = fence_open(table), *other;
	uint64_t last = 0, token;

	fence_larger(lh, "k", &last, "a table of ours");
	is(chown(fence_ranges(table), THEM, THEM), 0,
	    "its directory becomes a stranger's");
	is(chmod(fence_ranges(table), 0777), 0, "and open to all");
	other = fence_open(table);
	is(fence_token(other, "k", LH_LOCAL, &token), -EIO, "local: refused");
	ok(strstr(lh_error_detail(), "23456") != NULL, "saying whose it is");
	is(fence_token(other, "k", LH_EPHEMERAL, &token), 0, "ephemeral: not");
	is(lh_check(other, NULL, NULL), 1, "a check finds that");
	is(lh_close(other), 0, "closed");
	t_close(lh);
}

int
main(void)
{
	if (geteuid() != 0)
		skip_all("only root can become somebody else");
	table = t_table();
	is(chmod(fence_dir(), 0755), 0, "a directory that others can reach");
	with(US, US, 0700, 0, "our own");
	with(US, US, 0702, -EACCES, "our own, everybody may write");
	with(THEM, THEM, 0700, -EACCES, "a stranger's");
	with(THEM, THEM, 0755, -EACCES, "a stranger's that can be read");
	with(THEM, THEM, 0777, -EACCES, "a stranger's, everybody may write");
	with(THEM, GROUP, 0770, 0, "a stranger's, our group may write");
	with(THEM, GROUP, 0750, -EACCES, "a stranger's, our group may not");
	with(0, GROUP, 0770, 0, "root's, our group may write");
	with(0, 0, 0755, -EACCES, "root's, where we may not write");
	under_a_table();
	return done();
}
