/* SPDX-License-Identifier: MIT */
/*
 * Issue 21 A2: a user's table is that user's: another user gets -EACCES where
 * the object's mode says so, and otherwise has a different object under the
 * same name.  LH_SYSTEM and `mode` open a table to others.  A child becomes uid
 * 65534. Needs root.
 *
 * Otherwise users would see, or stop, each other's jobs.
 */
#include <errno.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define NOBODY 65534

static const char *name, *open_name;
static struct lh_lease *held;

static int
as_nobody(void *arg)
{
	struct lh_open_opts sys = t_open_opts();
	struct lh_lease lease;
	struct lh *lh = NULL;
	struct stat st;

	(void)arg;
	if (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0
	    || setresuid(NOBODY, NOBODY, NOBODY) != 0)
		bail_out("cannot become nobody");
	sys.flags = LH_SYSTEM;
	is(lh_open(&lh, name, &sys), -EACCES, "mode 0600 keeps others out");
	ok(t_has_detail(), "with a reason");
	ok(lh == NULL, "and without a handle");
	sys.flags = LH_SYSTEM | LH_NO_CREATE;
	is(lh_open(&lh, name, &sys), -EACCES, "also without creating");

	is(lh_open(&lh, name, NULL), 0, "their own of that name is theirs");
	is(stat(t_object(name), &st), 0, "as an object of its own");
	is(st.st_uid, NOBODY, "that they own");
	is(st.st_mode & 07777, 0600, "with the default mode");
	is(t_acquire(lh, "k", 1000, 0, &lease), 0, "and can be used");
	is(lh_close(lh), 0, "closed");
	unlink(t_object(name));

	sys.flags = LH_SYSTEM;
	is(lh_open(&lh, open_name, &sys), 0, "mode 0666 lets others in");
	is(t_acquire(lh, "k", 1000, 0, &lease), -EAGAIN,
	    "where they meet root's lease");
	is(lh_verify_token(lh, "k", held->token), 0, "and see its token");
	is(t_acquire(lh, "free", 1000, 0, &lease), 0, "and take other keys");
	is(lh_close(lh), 0, "closed");
	return tap_child_status();
}

static void
system_path(char *path, size_t size, const char *table)
{
	snprintf(path, size, "/dev/shm/leasehold.system/%s.table", table);
	t_remove_at_exit(path);
}

int
main(void)
{
	struct lh_open_opts sys = t_open_opts();
	struct lh *kept, *opened, *user;
	char path[128], open_path[128];
	struct stat st;
	mode_t mask = umask(077);

	name = t_table();
	open_name = t_table();
	held = t_shared(sizeof(*held));
	system_path(path, sizeof(path), name);
	system_path(open_path, sizeof(open_path), open_name);
	sys.flags = LH_SYSTEM;
	is(lh_open(&kept, name, &sys), 0, "a system table");
	is(stat(path, &st), 0, "is at its path");
	is(st.st_mode & 07777, 0600, "closed to others by default");
	user = t_open(name);
	ok(stat(t_object(name), &st) == 0,
	    "the user's table of that name is another object");
	*held = t_hold(user, "k");
	is(lh_verify_token(kept, "k", held->token), -ESTALE,
	    "and another table");
	is(lh_close(user), 0, "closed");
	sys.mode = 0666;
	is(lh_open(&opened, open_name, &sys), 0, "a table open to all");
	is(stat(open_path, &st), 0, "is at its path");
	is(st.st_mode & 07777, 0666, "with its mode, whatever the umask");
	*held = t_hold(opened, "k");

	if (geteuid() == 0)
		is(t_reap(t_fork(as_nobody, NULL), T_HANG_MS), 0,
		    "another user saw what it should");
	else
		skip(1, "only root can become another user");
	is(lh_verify(opened, held), 0, "root's lease is as it was");
	is(lh_release(opened, held), 0, "and is released");
	umask(mask);
	t_close(opened);
	t_close(kept);
	return done();
}
