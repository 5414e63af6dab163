/* SPDX-License-Identifier: MIT */
/*
 * Issue 21 A5: a user who may only read a table locks every byte of the files
 * that they can open.  The live file is not among them.  Nobody is hindered:
 * the table is opened and used, a killed holder is found dead in time, and the
 * table can be repaired and removed.
 *
 * Otherwise any reader of a table could lock everybody out.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define NOBODY 65534

static struct shared {
	struct t_event locked;
} *sh;
static char object[192], live[256];
static const char *table;

static int
lock_all(void *unused)
{
	struct flock all = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int fd;

	(void)unused;
	if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
		bail_out("setuid");
	fd = open(object, O_RDONLY | O_CLOEXEC);
	ok(fd >= 0, "the reader opens the table");
	is(fcntl(fd, F_OFD_SETLK, &all), 0, "and locks every byte of it");
	is(open(live, O_RDONLY | O_CLOEXEC), -1, "but not the live file");
	is(errno, EACCES, "which it may not open");
	t_post(&sh->locked);
	pause();
	return tap_child_status();
}

static int
open_system(struct lh **lh)
{
	struct lh_open_opts o = t_open_opts();

	o.flags = LH_SYSTEM;
	o.mode = 0644;
	return lh_open(lh, table, &o);
}

static int
hold(struct t_actor *a, void *arg)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	int error = open_system(&a->lh);

	(void)arg;
	o.ttl_ms = 3600000;
	return error != 0 ? error : lh_acquire(a->lh, "k", &o, &a->lease);
}

static void
find_live_file(void)
{
	char pattern[192];
	glob_t found;

	snprintf(object, sizeof(object), "/dev/shm/leasehold.system/%s.table",
	    table);
	t_remove_at_exit(object);
	snprintf(pattern, sizeof(pattern),
	    "/dev/shm/leasehold.system/%s.live.*",
	    table);
	is(glob(pattern, 0, NULL, &found), 0, "there is a live file");
	snprintf(live, sizeof(live), "%s", found.gl_pathv[0]);
	globfree(&found);
}

int
main(void)
{
	struct t_actor *holder;
	int64_t killed_ns;
	struct lh_lease l;
	struct lh *lh;
	pid_t reader;

	if (geteuid() != 0)
		skip_all("only root has a user who may only read");
	table = t_table();
	sh = t_shared(sizeof(*sh));
	is(open_system(&lh), 0, "a table that others may read: %s",
	    lh_error_detail());
	find_live_file();
	reader = t_fork(lock_all, NULL);
	ok(t_await(&sh->locked, 1, T_HANG_MS), "the reader has its locks");
	holder = t_actor_unattached();
	is(t_do(holder, hold, NULL), 0, "another process opens it and holds");
	killed_ns = t_now_ns();
	t_actor_kill(holder);
	is(t_acquire(lh, "k", 3600000, T_HANG_MS, &l), 0,
	    "it is killed, and found dead");
	cmp(t_since_ms(killed_ns), <=, 2 * T2_MS, "in time");
	is(lh_release(lh, &l), 0, "released");
	is(lh_close(lh), 0, "closed");
	is(lh_table_repair(table, LH_SYSTEM, NULL, NULL), 0, "repaired: %s",
	    lh_error_detail());
	is(lh_table_remove(table, LH_SYSTEM | LH_FORGET_TOKENS), 0,
	    "and removed: %s", lh_error_detail());
	t_actor_free(holder);
	t_kill(reader);
	return done();
}
