/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12: a full tmpfs is -ENOSPC when a table is created and never a
 * SIGBUS later, because the table's memory is reserved in full.  A child gets a
 * /dev/shm of its own: first one that is too small, where the refusal leaves
 * nothing behind.  Then one in which the table fits, the rest is filled, and
 * every key and lease of the table is used.  Needs root.
 *
 * Otherwise a full machine would kill every user of a table.
 */
#include <dirent.h>
#include <errno.h>
#include <sys/mount.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define FILLER		"/dev/shm/filler"
#define KEYS		1024

static int
n_entries(void)
{
	char place[64];
	DIR *d;
	struct dirent *e;
	int n = 0;

	snprintf(place, sizeof(place), "/dev/shm/leasehold.%u",
	    (unsigned)geteuid());
	d = opendir(place);
	while (d != NULL && (e = readdir(d)) != NULL)
		n += e->d_name[0] != '.';
	if (d != NULL)
		closedir(d);
	return n;
}

static void
use_everything(struct lh *lh)
{
	struct lh_lease *leases = calloc(KEYS, sizeof(*leases));
	int taken = 0, released = 0, r = 0;
	char name[256];

	for (int i = 0; i < KEYS; i++) {
		/* one in five too long to be kept beside the key */
		snprintf(name, sizeof(name), "%d-%0*d", i,
		    i % 5 == 0 ? 240 : 3, 0);
		r = t_acquire(lh, name, 3600000, 0, &leases[i]);
		if (r != 0) {
			diag("key %d: %s", i, lh_error_detail());
			break;
		}
		taken++;
	}
	is(taken, KEYS, "every key of the table can be used");
	for (int i = 0; i < taken; i++)
		released += lh_release(lh, &leases[i]) == 0;
	is(released, taken, "and released");
	is(t_findings(lh), 0, "the table is sound");
	free(leases);
}

static int
in_a_small_world(void *arg)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh = NULL, *more = NULL;

	o.max_keys = KEYS;
	if (!t_mount("/dev/shm", "size=64k"))
		return T_NO_MOUNT;
	is(lh_open(&lh, arg, &o), -ENOSPC, "too small: refused");
	ok(t_has_detail(), "with a reason");
	ok(lh == NULL, "without a handle");
	is(n_entries(), 0, "and without a trace");
	is(lh_open(&lh, arg, &o), -ENOSPC, "again");
	is(n_entries(), 0, "without a trace");

	is(mount("tmpfs", "/dev/shm", "tmpfs", MS_REMOUNT, "size=16m"), 0,
	    "it grows");
	is(lh_open(&lh, arg, &o), 0, "and there is room");
	t_fill_up(FILLER);
	is(lh_open(&more, arg, &o), 0, "others still attach");
	use_everything(more);
	use_everything(lh);
	is(lh_close(more), 0, "closed");
	is(lh_close(lh), 0, "closed");
	is(lh_open(&lh, "another", &o), -ENOSPC, "another has no room");
	is(n_entries(), 2, "and leaves no trace beside the table's two files");
	return tap_child_status();
}

int
main(void)
{
	t_small_world(in_a_small_world, (void *)(uintptr_t)t_table(),
	    T_HANG_MS);
	return done();
}
