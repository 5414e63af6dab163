/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2: a full or read-only file system under the fence directory (a
 * tmpfs of 64 KiB of the test's own). No table can be made there (-ENOSPC,
 * -EROFS). In an existing table scope local fails with -EIO as soon as it needs
 * a range; scope ephemeral goes on; with room again everything works.  Needs
 * root.
 *
 * Otherwise a full disk would stop ephemeral keys, or would give tokens that
 * are not on disk.
 */
#include <sys/mount.h>
#include "fence.h"


static char dir[FENCE_PATH];

static int
remount(const char *options, unsigned long flags)
{
	return mount("tmpfs", dir, "tmpfs", MS_REMOUNT | flags, options);
}

static void
fill_up(void)
{
	char path[FENCE_PATH + 20];

	snprintf(path, sizeof(path), "%s/filler", dir);
	t_fill_up(path);
}

static void
make_room(void)
{
	char path[FENCE_PATH + 20];

	snprintf(path, sizeof(path), "%s/filler", dir);
	is(unlink(path), 0, "there is room again");
}

static void
refused(const char *table, struct lh_open_opts *o, int want, const char *says)
{
	struct lh *lh = NULL;

	is(lh_open(&lh, table, o), want, "a new table: refused");
	ok(strstr(lh_error_detail(), dir) != NULL, "the directory is named");
	ok(strstr(lh_error_detail(), says) != NULL, "and: \"%s\"", says);
	ok(access(t_object(table), F_OK) != 0, "there is none");
}

/* The table's present range is lost, and it cannot claim another. */
static void
stops(const char *table, struct lh_open_opts *o, const char *says)
{
	uint64_t token;
	struct lh *lh;

	is(lh_open(&lh, table, o), 0, "who opens the table now can");
	is(fence_token(lh, "k", LH_LOCAL, &token), -EIO, "local: -EIO");
	ok(strstr(lh_error_detail(), says) != NULL, "\"%s\"", says);
	is(fence_token(lh, "k", LH_EPHEMERAL, &token), 0, "ephemeral goes on");
	is(lh_close(lh), 0, "closed");
}

static int
in_a_small_world(void *arg)
{
	const char *table = arg;
	struct lh_open_opts o = fence_opts();
	char cmd[FENCE_PATH + 200];
	uint64_t last = 0;
	struct lh *lh;

	o.fence_dir = dir;
	if (!t_mount(dir, "size=64k,mode=700"))
		return T_NO_MOUNT;
	fill_up();
	refused(table, &o, -ENOSPC, "free some space");
	make_room();
	is(remount("size=64k,mode=700", MS_RDONLY), 0, "read-only");
	refused(table, &o, -EROFS, "Read-only");
	is(remount("size=64k,mode=700", 0), 0, "writable");

	is(lh_open(&lh, table, &o), 0, "and a table can be made");
	fence_larger(lh, "k", &last, "a table");
	snprintf(cmd, sizeof(cmd), "rm %s/*.fence/[0-9]*", dir);
	is(system(cmd), 0, "its range is lost");
	fill_up();
	stops(table, &o, "free some space");
	is(remount("size=64k,mode=700", MS_RDONLY), 0, "read-only");
	stops(table, &o, "writable");
	is(remount("size=64k,mode=700", 0), 0, "writable");
	make_room();
	is(lh_close(lh), 0, "closed");
	is(lh_open(&lh, table, &o), 0, "opened again");
	fence_larger(lh, "k", &last, "all is well");
	t_close(lh);
	return tap_child_status();
}

int
main(void)
{
	snprintf(dir, sizeof(dir), "%s", fence_dir());
	t_small_world(in_a_small_world, (void *)(uintptr_t)t_table(),
	    T_HANG_MS);
	return done();
}
