/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1: a named session lives without any attachment; a repair does not
 * free its leases, and is refused until the session has ended.
 *
 * Otherwise a repair would free the key of a job that still runs.
 */
#include <errno.h>
#include <string.h>
#include "support/object.h"
#include "support/support.h"
#include "tap.h"

int
main(void)
{
	struct lh_session_opts so = LH_SESSION_OPTS_INIT;
	struct lh_acquire_opts o = t_opts(t_ms(60000), 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	const char *table = t_table();
	struct lh *lh = t_open(table);
	struct t_object obj;
	struct lh_session *s;
	struct lh_lease l, q;

	so.ttl_ms = t_ms(60000);
	is(lh_session_open(lh, "s", &so, &s), 0, "a named session");
	more.session = s;
	o.more = &more;
	is(lh_acquire(lh, "k", &o, &l), 0, "has a key");
	lh_session_close(s);
	is(lh_close(lh), 0, "nobody is attached");
	obj = t_map_object(table);
	sh32_store(&obj.h->flags, sh32_load(&obj.h->flags) | SHM_DAMAGED);
	is(lh_table_repair(table, 0, NULL, NULL), -EBUSY, "no repair");
	is(lh_table_repair(table, LH_DRY_RUN, NULL, NULL), -EBUSY,
	    "nor does a dry run promise one");
	ok(strstr(lh_error_detail(), "'s'") != NULL, "  it is said why: %s",
	    lh_error_detail());
	lh = t_open(table);
	is(t_acquire(lh, "k", 1000, 0, &q), -EAGAIN, "the key is held");
	is(lh_lease_recall(lh, "k", l.id, l.token, &q), 0, "by that lease");
	so.flags = LH_NO_CREATE;
	is(lh_session_open(lh, "s", &so, &s), 0, "the session lives");
	is(lh_session_destroy(s), 0, "and is destroyed");
	lh_session_close(s);
	is(lh_close(lh), 0, "nobody is attached");
	is(lh_table_repair(table, 0, NULL, NULL), 1, "repaired");
	lh = t_open(table);
	is(t_acquire(lh, "k", 1000, 0, &q), 0, "the key is free");
	cmp(q.token, >, l.token, "and its tokens go on");
	is(lh_close(lh), 0, "closed");
	return done();
}
