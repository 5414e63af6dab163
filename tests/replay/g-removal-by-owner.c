/* SPDX-License-Identifier: MIT */
/*
 * Crash rows D1, D2: the owner whom root's configuration names removes a table
 * of the machine by force, and is killed at each point of that.  A question
 * removes nothing.  Root's next use completes the removal, if it had begun, and
 * the tokens of the key go on above.  A lease that is held meanwhile stays
 * held, and nobody else gets it in a table that stays.  Needs root.
 *
 * Otherwise a killed owner would leave a table that nobody can use or replace.
 */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "replay.h"

#define OWNER	4711
#define GROUP	4713
#define OBJECT	"/dev/shm/leasehold.system/t.table"
#define CONF	"/etc/leasehold.conf"

static const char *const points[] = { "removal.opened", "retire.marked",
	"retire.noted", "retire.flagged", "retire.frozen", "retire.ceiling",
	"revoke.marked", "retire.revoked" };

static struct lh_open_opts
system_opts(uint32_t flags)
{
	struct lh_open_opts o = replay_opts(0);

	o.flags = LH_SYSTEM | flags;
	return o;
}

static int
remove_as_owner(void *arg)
{
	(void)arg;
	if (setgroups(0, NULL) != 0 || setgid(OWNER) != 0 ||
	    setuid(OWNER) != 0)
		return -EPERM;
	return lh_table_remove("t", LH_SYSTEM | LH_FORCE);
}

static ino_t
inode(void)
{
	struct stat st;

	return stat(OBJECT, &st) == 0 ? st.st_ino : 0;
}

/* Kills the owner at that point (NULL: it comes to its end); `begun`: the words
 * of the removal are there. */
static void
kill_owner(const char *point, bool begun)
{
	struct lh_open_opts make = system_opts(LH_CONFIGURED),
	    find = system_opts(LH_NO_CREATE);
	struct lh *lh, *next = NULL;
	struct lh_lease l, m;
	ino_t was;

	if (point == NULL)
		point = "its end";
	is(lh_open(&lh, "t", &make), 0, "%s: root makes it: %s", point,
	    lh_error_detail());
	l = t_hold(lh, "k");
	was = inode();
	if (strcmp(point, "its end") == 0)
		is(t_reap(t_fork(remove_as_owner, NULL), T_HANG_MS), 0,
		    "the owner removes it");
	else
		replay_killed_at("R", point, remove_as_owner, NULL);
	is(lh_open(&next, "t", &find), begun ? -ENOENT : 0, "  a question");
	if (next != NULL)
		(void)lh_close(next);
	ok(inode() == was, "  leaves the file");
	is(lh_verify(lh, &l), 0, "  what is held is held");
	next = NULL;
	is(lh_open(&next, "t", &make), 0, "  root's use: %s",
	    lh_error_detail());
	ok((inode() != was) == begun, "  %s", begun ? "replaces it" :
	    "leaves it");
	if (next != NULL && begun)
		ok(replay_try(next, "k", &m) == 0 && m.token > l.token,
		    "  the key goes on, with a larger token");
	else if (next != NULL)
		is(replay_try(next, "k", &m), -EAGAIN, "  the key is held");
	(void)lh_close(lh);
	if (next != NULL)
		(void)lh_close(next);
	is(lh_table_remove("t", LH_SYSTEM | LH_FORCE), 0, "  root removes it");
}

static bool
write_conf(void)
{
	FILE *f = fopen(CONF, "we");

	if (f == NULL)
		return false;
	(void)fprintf(f, "[table t]\nowner = %d\ngroup = %d\nmode = 660\n",
	    OWNER, GROUP);
	return fclose(f) == 0 && chmod(CONF, 0644) == 0;
}

static int
in_a_world_of_our_own(void *arg)
{
	(void)arg;
	if (!t_mount("/dev/shm", "mode=1777") ||
	    !t_mount("/etc", "mode=755") || !write_conf())
		return T_NO_MOUNT;
	(void)replay_begin();
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		kill_owner(points[i], i >= 3);
	kill_owner(NULL, true);
	return tap_child_status();
}

int
main(void)
{
	int status;

	if (geteuid() != 0)
		skip_all("for root");
	status = t_reap(t_fork(in_a_world_of_our_own, NULL), T_HANG_MS);
	if (status == T_NO_MOUNT)
		skip_all("no mount namespace");
	is(status, 0, "all of it");
	return done();
}
