/* SPDX-License-Identifier: MIT */
/*
 * Invariant I2 of shm/live_file.c: a process that cleans up leaves the live
 * file of a table that is just being made.  The maker has named that file and
 * is stopped; another process makes a table of that name, uses it and removes
 * it.  The maker's table must work when it goes on.  And shm/removal_lock.c: a
 * remover that opened the lock's file before it was unlinked does not hold the
 * lock.
 *
 * Otherwise the maker's table would have no live file, and each of its sessions
 * would count as dead; or two removers would run at once.
 */
#include <fcntl.h>
#include <glob.h>
#include <errno.h>
#include <unistd.h>
#include "replay.h"
#include "shm/removal_lock.h"

struct opening {
	const char *table;
	struct lh *lh;
};

static int
open_table(void *arg)
{
	struct opening *o = arg;
	struct lh_open_opts opts = replay_opts(0);

	return lh_open(&o->lh, o->table, &opts);
}

static int
live_files(const char *table)
{
	char pattern[200];
	glob_t found;
	int n;

	snprintf(pattern, sizeof(pattern), "/dev/shm/leasehold.%u/%s.live.*",
	    (unsigned)geteuid(), table);
	n = glob(pattern, 0, NULL, &found) == 0 ? (int)found.gl_pathc : 0;
	globfree(&found);
	return n;
}

static void
swept(const char *table)
{
	struct opening maker = { table, NULL };
	struct lh_lease l;
	struct lh *lh;

	replay_stop("M", "live.linked", open_table, &maker);
	lh = replay_open(table, 0);
	is(replay_try(lh, "k", &l), 0, "another table is made and used");
	is(lh_close(lh), 0, "closed");
	is(lh_table_remove(table, 0), 0, "and removed again");
	is(live_files(table), 1, "the maker's file is left");
	is(replay_finish("M"), 0, "the maker goes on: %s", lh_error_detail());
	if (maker.lh != NULL) {
		is(replay_try(maker.lh, "k", &l), 0, "its table can be used");
		is(lh_close(maker.lh), 0, "closed");
	}
	is(lh_table_remove(table, LH_FORCE), 0, "removed");
	is(live_files(table), 0, "nothing is left");
}

static int
lock_removal(void *path)
{
	return lhi_removal_lock(path);
}

static void
unnamed(const char *table)
{
	char path[192];
	int lock, other;

	snprintf(path, sizeof(path), "%s", t_object(table));
	lock = lhi_removal_lock(path);
	ok(lock >= 3, "the removal lock is taken");
	is(lhi_removal_lock(path), -EAGAIN, "a second time it is refused");
	replay_stop("R", "removal.opened", lock_removal, path);
	lhi_removal_unlock(path, lock);
	other = lhi_removal_lock(path);
	ok(other >= 3, "it is released, and taken with a new file");
	is(replay_finish("R"), -EAGAIN,
	    "the one that opened the old file has no lock");
	lhi_removal_unlock(path, other);
}

int
main(void)
{
	const char *table = replay_begin();

	swept(table);
	unnamed(table);
	return done();
}
