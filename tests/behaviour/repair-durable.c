/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2: a table with a fence file is damaged, also in its record of
 * ranges, and repaired: durable tokens go on above all earlier ones, in a range
 * that was claimed on disk for them.
 *
 * Otherwise a repair would let durable tokens begin again.
 */
#include "fence.h"
#include "support/object.h"

/* A durable grant of the key: its token, which is larger. */
static uint64_t
use(const char *table, const char *key, uint64_t than)
{
	struct lh *lh = fence_open(table);
	uint64_t highest;

	fence_larger(lh, key, &than, key);
	cmp(fence_count(table, &highest), >, 0, "there are ranges");
	is(than >> 32, highest, "its token is in the latest");
	t_close(lh);
	return than;
}

static void
play(const char *what, uint64_t durable, uint64_t local)
{
	const char *table = t_table();
	uint64_t last = 0;
	struct t_object o;

	diag("%s", what);
	for (int i = 0; i < 3; i++)
		last = use(table, "k", last);
	use(table, "another", 0);
	o = t_map_object(table);
	sh64_store(&o.h->durable_ceiling, durable);
	sh64_store(&o.h->local_shards, local);
	sh32_store(&o.h->flags, SHM_DAMAGED);
	cmp(lh_table_repair(table, 0, NULL, NULL), >, 0, "%s: repaired", what);
	use(table, "k", last);
	use(table, "another", last);
	use(table, "new", last);
	is(lh_table_repair(table, 0, NULL, NULL), 0, "sound");
	t_unmap_object(&o);
}

int
main(void)
{
	play("no ranges", 0, 0);
	play("ranges that are not its own", UINT64_C(1) << 50, 0);
	play("shards", UINT64_C(1) << 33, UINT64_MAX);
	return done();
}
