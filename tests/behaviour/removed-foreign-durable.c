/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2: a table with a fence file begins at the wall clock, far above
 * what removed tables of its name have left.  When its header or its ceiling is
 * damaged and it is removed all the same, the next table's tokens are still
 * larger, also if that one has no fence file.
 *
 * Otherwise the removal of a damaged table would let tokens begin again.
 */
#include "fence.h"
#include "support/object.h"

static const char *table;

static uint64_t
token_in(struct lh *lh)
{
	struct lh_lease l = t_hold(lh, "k");

	is(lh_release(lh, &l), 0, "a grant");
	return l.token;
}

static void
spoil_format(struct t_object *o)
{
	sh32_store(&o->h->format, SHM_FORMAT + 1);
}

static void
spoil_ceiling(struct t_object *o)
{
	sh64_store(&o->h->ceiling, 0);
}

static void
goes_on(void (*spoil)(struct t_object *o), uint32_t flags, const char *what)
{
	struct lh_open_opts o = t_open_opts();
	struct t_object obj;
	uint64_t before;
	struct lh *lh;

	table = t_table();
	o.fence_dir = fence_dir();
	if (lh_open(&lh, table, &o) != 0)
		bail_out("lh_open: %s", lh_error_detail());
	before = token_in(lh);
	is(lh_close(lh), 0, "a table with a fence file");
	obj = t_map_object(table);
	spoil(&obj);
	t_unmap_object(&obj);
	is(lh_table_remove(table, flags), 0, "%s: removed", what);
	lh = t_open(table);
	cmp(token_in(lh), >, before, "%s: tokens go on", what);
	t_close(lh);
}

int
main(void)
{
	goes_on(spoil_format, LH_FORCE, "another version's");
	goes_on(spoil_ceiling, 0, "a damaged ceiling");
	return done();
}
