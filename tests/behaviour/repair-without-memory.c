/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4: a repair that finds too little memory for the whole table
 * changes nothing: its users can go on, and with more room the table is
 * repaired.  A child gets a /dev/shm of its own, which is full but for the
 * table.  Needs root.
 *
 * Otherwise a repair on a full machine would destroy the table.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "support/child.h"
#include "support/object.h"
#include "support/support.h"
#include "tap.h"

#define FILLER		"/dev/shm/filler"
#define MUCH		(1 << 15)	/* keys, of which few have memory */

/* Memory was given for the last key, and not counted: for all before it, too,
 * a repair wants some. */
static void
give_much(const char *table)
{
	struct t_object o = t_map_object(table);
	int fd = open(t_object(table), O_RDWR);

	is((int)pwrite(fd, "", 1, (off_t)(o.geo.slots_off + o.geo.n_slots *
	    sizeof(struct shm_slot) - 1)), 1, "memory for the last key");
	close(fd);
	(void)sh32_fetch_or(&o.h->flags, SHM_DAMAGED);
	t_unmap_object(&o);
}

static int
in_a_small_world(void *arg)
{
	struct lh_open_opts o = t_open_opts();
	struct lh_lease l;
	struct lh *lh;

	o.max_keys = MUCH;
	if (!t_mount("/dev/shm", "size=16m"))
		return T_NO_MOUNT;
	is(lh_open(&lh, arg, &o), 0, "a table");
	is(t_acquire(lh, "k", 1000, 0, &l), 0, "a key");
	is(lh_release(lh, &l), 0, "given back");
	is(lh_close(lh), 0, "closed");
	give_much(arg);
	t_fill_up(FILLER);
	is(lh_table_repair(arg, 0, NULL, NULL), -ENOSPC, "no room to repair");
	ok(t_has_detail(), "with a reason");
	is(lh_open(&lh, arg, &o), 0, "but the table is as it was");
	is(t_acquire(lh, "k", 1000, 0, &l), 0, "and used");
	is(lh_release(lh, &l), 0, "as before");
	is(lh_close(lh), 0, "closed");
	is(unlink(FILLER), 0, "then there is room");
	is(lh_table_repair(arg, 0, NULL, NULL), 1, "and it is repaired");
	is(lh_open(&lh, arg, &o), 0, "opened");
	is(t_findings(lh), 0, "and sound");
	is(lh_close(lh), 0, "closed");
	return tap_child_status();
}

int
main(void)
{
	t_small_world(in_a_small_world, (void *)(uintptr_t)t_table(),
	    T_HANG_MS);
	return done();
}
