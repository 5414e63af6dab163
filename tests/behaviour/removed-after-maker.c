/* SPDX-License-Identifier: MIT */
/*
 * A named session that ends with its maker (LH_SESSION_WITH_MAKER) does not
 * prevent the removal or repair of the table when the maker was killed.
 *
 * Otherwise an operator could not remove a table after a crash.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/object.h"
#include "support/support.h"
#include "tap.h"
#include <leasehold/repair.h>

static const char *table;

static int
make(struct t_actor *a, void *arg)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh_session *s;

	(void)arg;
	o.ttl_ms = 3600000;
	o.flags = LH_SESSION_WITH_MAKER;
	return lh_session_open(a->lh, "m", &o, &s);
}

static void
killed(void)
{
	struct t_actor *a = t_actor(table);

	is(t_do(a, make, NULL), 0, "a process makes one, to end with it");
	t_actor_kill(a);
}

int
main(void)
{
	struct t_object o;

	table = t_table();
	killed();
	is(lh_table_remove(table, 0), 0, "removed: %s", lh_error_detail());
	(void)lh_table_remove(table, LH_FORCE);
	killed();
	o = t_map_object(table);
	(void)sh32_fetch_or(&o.h->flags, SHM_DAMAGED);
	t_unmap_object(&o);
	is(lh_table_repair(table, 0, NULL, NULL), 1, "repaired: %s",
	    lh_error_detail());
	return done();
}
