/* SPDX-License-Identifier: MIT */
/*
 * lh_log_grants() is no damage: a repair leaves a sound table that records
 * grants as it is, tokens included, and a damaged one records afterwards as
 * before.
 *
 * Otherwise each repair would switch the recording off, and move tokens of a
 * sound table.
 */
#include "support/object.h"
#include "support/support.h"
#include "tap.h"
#include <leasehold/repair.h>

static const char *table;

static int
recording(struct lh *lh)
{
	struct lh_stats st = { .size = sizeof(st) };

	is(lh_stats(lh, &st), 0, "statistics");
	return (int)st.log_grants;
}

static uint64_t
token_of_grant(struct lh *lh)
{
	struct lh_lease l = t_hold(lh, "k");

	is(lh_release(lh, &l), 0, "a grant");
	return l.token;
}

/* Repairs with recording on or off, and checks that it stays so. */
static void
found(int findings, int on, uint32_t damage)
{
	struct t_object o;
	struct lh *lh = t_open(table);
	uint64_t before = token_of_grant(lh), after;

	is(lh_log_grants(lh, on) >= 0, 1, "recording is %d", on);
	t_close(lh);
	o = t_map_object(table);
	(void)sh32_fetch_or(&o.h->flags, damage);
	t_unmap_object(&o);
	is(lh_table_repair(table, 0, NULL, NULL), findings, "a repair");
	lh = t_open(table);
	is(recording(lh), on, "it is %d still", on);
	after = token_of_grant(lh);
	cmp(after, >, before, "tokens go on");
	if (findings == 0)
		cmp(after, <, before + 1000, "from where they were");
	t_close(lh);
}

int
main(void)
{
	table = t_table();
	found(0, 1, 0);
	found(1, 1, SHM_DAMAGED);
	found(1, 1, 0x80000000u);
	found(0, 0, 0);
	found(1, 0, SHM_DAMAGED);
	return done();
}
