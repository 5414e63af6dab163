/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2, issue 21 A1: the owner of a fence directory.  A directory that
 * everybody may write to, or that belongs to a stranger, is refused: no table
 * is made there, and under a table whose header leads there scope local fails
 * with -EIO. Root's directory is accepted, and one of the caller's group that
 * may write.  Needs root, to become another user.
 *
 * Otherwise a stranger could remove or add ranges, and tokens would be given
 * twice.
 */
#include <grp.h>
#include <sys/types.h>
#include "fence.h"

#define US	12345
#define THEM	23456
#define GROUP	34567

static const char *table;

/* The files in it. */
static int
system_rm(const char *dir)
{
	char cmd[500];

	snprintf(cmd, sizeof(cmd), "rm %s/[0-9]*", dir);
	return system(cmd);
}

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

static int
as_member(void *arg)
{
	const gid_t groups[] = { GROUP };
	struct lh_open_opts o = fence_opts();
	uint64_t token;
	struct lh *lh;

	(void)arg;
	if (setgroups(1, groups) != 0 || setresgid(US, US, US) != 0 ||
	    setresuid(US, US, US) != 0)
		return 255;
	o.flags |= LH_SYSTEM | LH_NO_CREATE;
	if (lh_open(&lh, table, &o) != 0)
		return 254;
	return -fence_token(lh, "k", LH_LOCAL, &token);
}

/* A system-wide table of a group: its members claim ranges. */
static void
of_a_group(void)
{
	struct lh_open_opts o = fence_opts();
	char dir[400], object[200];
	uint64_t before, after;
	struct stat st;
	struct lh *lh;

	snprintf(object, sizeof(object), "/dev/shm/leasehold.system/%s.table",
	    table);
	t_remove_at_exit(object);
	snprintf(dir, sizeof(dir), "%s/leasehold.system.%s.fence", fence_dir(),
	    table);
	is(mkdir(dir, 0700), 0, "a maker was killed before it gave it away");
	o.flags |= LH_SYSTEM;
	o.mode = 0660;
	o.group = GROUP;
	is(lh_open(&lh, table, &o), 0, "a table of a group");
	ok(stat(dir, &st) == 0 && st.st_gid == GROUP &&
	    (st.st_mode & 07777) == 02770, "its directory is the group's");
	is(fence_token(lh, "k", LH_LOCAL, &before), 0, "its maker");
	is(system_rm(dir), 0, "its range is lost");
	is(t_reap(t_fork(as_member, NULL), T_HANG_MS), 0,
	    "a member claims another");
	is(fence_token(lh, "k", LH_LOCAL, &after), 0, "the maker goes on");
	cmp(after, >, before + 1, "above");
	is(lh_close(lh), 0, "closed");
	unlink(object);
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
	is(lh_check(other, NULL, NULL), -EIO, "a check tells that");
	ok(strstr(lh_error_detail(), "23456") != NULL, "saying whose it is");
	is(lh_close(other), 0, "closed");
	is(chown(fence_ranges(table), 0, 0), 0, "it is ours again");
	is(chmod(fence_ranges(table), 0700), 0, "alone");
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
	of_a_group();
	under_a_table();
	return done();
}
