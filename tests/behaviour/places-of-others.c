/* SPDX-License-Identifier: MIT */
/*
 * Issue 21 A1: nothing is believed because of a name in /dev/shm: a table is
 * used only if its directory can have been filled by its owner alone.  A file
 * that another user made first is -EACCES, with that user's number.  A floor is
 * believed only if it is the owner's, and never removes a table in use.  A
 * child gets a /dev/shm of its own.  Needs root.
 *
 * Otherwise any user could replace the machine's table and grant a key twice.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define NOBODY	65534
#define OURS	"/dev/shm/leasehold.0"
#define SYSTEM	"/dev/shm/leasehold.system"

static int
open_table(uint32_t flags)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh = NULL;
	int r;

	o.flags = flags;
	r = lh_open(&lh, "t", &o);
	if (r == 0)
		(void)lh_close(lh);
	return r;
}

static bool
says(const char *words)
{
	if (strstr(lh_error_detail(), words) != NULL)
		return true;
	diag("it says: %s", lh_error_detail());
	return false;
}

static void
give_to_nobody(const char *path)
{
	if (lchown(path, NOBODY, NOBODY) != 0)
		bail_out("chown %s", path);
}

static void
refuse_foreign_place(const char *dir, uint32_t flags)
{
	is(mkdir(dir, 0755), 0, "%s, made by nobody", dir);
	give_to_nobody(dir);
	is(open_table(flags), -EACCES, "is refused");
	ok(says("65534"), "and its owner named");
	is(lh_table_remove("t", flags | LH_FORCE), -EACCES, "also by rm");
	is(rmdir(dir), 0, "it goes");

	is(symlink("/tmp", dir), 0, "a link there");
	give_to_nobody(dir);
	is(open_table(flags), -EACCES, "is refused");
	ok(says("65534"), "and its owner named");
	unlink(dir);

	is(mkdir(dir, 0700), 0, "one of ours");
	is(chmod(dir, 0777), 0, "that others may write to");
	is(open_table(flags), -EACCES, "is refused");
	ok(says("chmod go-w"), "with the remedy");
	is(rmdir(dir), 0, "it goes");
}

static void
make_places(void)
{
	mode_t mask = umask(0777);
	struct lh_open_opts o = t_open_opts();
	struct lh *lh;
	struct stat st;

	is(open_table(0), 0, "made under a strange umask");
	is(stat(OURS, &st), 0, "there is a directory");
	is(st.st_mode & 07777, 0700, "for its owner alone");
	is(open_table(LH_SYSTEM), 0, "the machine's as well");
	is(stat(SYSTEM, &st), 0, "there is a directory");
	is(st.st_mode & 07777, 0755, "that others may look into");
	umask(mask);
	o.mode = 0660;
	o.group = NOBODY;
	is(lh_open(&lh, "for-group", &o), 0, "a table for a group");
	is(lh_close(lh), 0, "closed");
	is(stat(OURS, &st), 0, "then the directory");
	is(st.st_mode & 07777, 0750, "lets that group through");
	is(st.st_gid, NOBODY, "and none but it");
	o.mode = 0644;
	is(lh_open(&lh, "for-all", &o), 0, "a table that all may read");
	is(lh_close(lh), 0, "closed");
	is(stat(OURS, &st), 0, "then the directory");
	is(st.st_mode & 07777, 0755, "lets all through");
}

static void
plant_floors(void)
{
	struct lh *lh = t_open("t");
	struct lh_lease l = t_hold(lh, "k");

	is(symlink("1099511627776", OURS "/t.floor"), 0, "a floor");
	give_to_nobody(OURS "/t.floor");
	is(open_table(0), -EUCLEAN, "of somebody else is not believed");
	unlink(OURS "/t.floor");
	is(open_table(0), 0, "without it all is well");
	is(symlink("1099511627776", OURS "/t.floor"), 0, "one of ours");
	is(open_table(0), -EUCLEAN, "above a table in use is refused");
	is(access(OURS "/t.table", F_OK), 0, "and does not remove it");
	is(lh_verify(lh, &l), 0, "nor end its leases");
	is(lh_close(lh), 0, "closed");
	is(open_table(0), -EUCLEAN, "also once it is not in use");
	is(lh_table_remove("t", LH_FORCE), 0, "remove by force");
	lh = t_open("t");
	cmp(t_hold(lh, "k").token, >, UINT64_C(1099511627776),
	    "then tokens go on above");
	is(lh_close(lh), 0, "closed");

	is(lh_table_remove("t", LH_FORGET_TOKENS), 0, "forget");
	is(access(OURS "/t.table", F_OK), -1, "no table is left");
	is(readlink(OURS "/t.floor", (char[8]){ 0 }, 8), -1, "and no floor");
	is(lh_table_remove("t", LH_FORGET_TOKENS), -ENOENT, "nothing is left");
	is(symlink("nonsense", OURS "/t.floor"), 0, "a floor that is none");
	is(open_table(0), -EUCLEAN, "is damage");
	is(lh_table_remove("t", LH_FORGET_TOKENS), 0, "and can be forgotten");
	is(open_table(0), 0, "then all is well");
	is(symlink("nonsense", OURS "/t.floor"), 0, "also beside a table");
	is(lh_table_remove("t", LH_FORGET_TOKENS), 0, "it can be forgotten");
}

/* Attacks that worked before tables had directories (issue 21 A1). */
static void
plant_old_floor(void)
{
	struct lh *lh;
	struct lh_open_opts o = t_open_opts();
	struct lh_lease l;

	o.flags = LH_SYSTEM;
	is(lh_open(&lh, "t", &o), 0, "the machine's table");
	l = t_hold(lh, "k");
	is(symlink("1099511627776", "/dev/shm/leasehold-floor.system.t"), 0,
	    "a floor where floors once were");
	give_to_nobody("/dev/shm/leasehold-floor.system.t");
	is(open_table(LH_SYSTEM), 0, "is not looked at");
	is(lh_verify(lh, &l), 0, "and removes nothing");
	is(lh_close(lh), 0, "closed");
}

static int
in_a_world_of_our_own(void *arg)
{
	(void)arg;
	if (!t_mount("/dev/shm", "mode=1777"))
		return T_NO_MOUNT;
	refuse_foreign_place(OURS, 0);
	refuse_foreign_place(SYSTEM, LH_SYSTEM);
	make_places();
	plant_floors();
	plant_old_floor();
	return tap_child_status();
}

int
main(void)
{
	int status;

	if (geteuid() != 0) {
		skip(1, "for root");
		return done();
	}
	status = t_reap(t_fork(in_a_world_of_our_own, NULL), T_HANG_MS);
	if (status == T_NO_MOUNT)
		skip(1, "no mount namespace");
	else
		is(status, 0, "all of it");
	return done();
}
