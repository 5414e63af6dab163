/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G9: when a table's object is removed under its users, they get
 * -ESTALE on the slow path; they can still release their leases, and a process
 * that opens the name from then on is in another table.  The same when another
 * table has the name already.
 *
 * Otherwise the old and the new users of one name would each believe that they
 * are alone.
 */
#include <errno.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

static void
learn_it(bool replaced)
{
	const char *table = t_table();
	const char *how = replaced ? "replaced" : "removed";
	struct t_actor *waiter = t_actor(table);
	struct lh *lh = t_open(table), *fresh = NULL;
	struct lh_lease mine = t_hold(lh, "k"), other;
	struct lh_key *key = NULL;

	t_begin_acquire(waiter, "k", 3600000, t_ms(3000));
	ok(t_await_waiters(lh, "k", 1), "another waits");
	is(unlink(t_object(table)), 0, "the object is removed");
	if (replaced)
		fresh = t_open(table);

	is(lh_key_open(lh, "new", 0, &key), -ESTALE,
	    "%s: a new key is refused", how);
	ok(t_has_detail(), "with a reason");
	is(t_acquire(lh, "newer", 1000, 0, &other), -ESTALE,
	    "%s: so is acquiring one", how);
	is(t_result(waiter), -ESTALE, "%s: the waiter learns it", how);
	is(lh_verify(lh, &mine), 0, "%s: the lease is held", how);
	is(lh_release(lh, &mine), 0, "%s: and released", how);

	if (!replaced)
		fresh = t_open(table);
	mine = t_hold(fresh, "k");
	is(lh_verify(fresh, &mine), 0, "a new table is in use");
	is(lh_release(lh, &mine), -ESTALE, "which the old one has no part in");
	is(t_do_acquire(waiter, "newest", 1000, 0), -ESTALE,
	    "the others of the old one, neither");
	t_actor_end(waiter);
	is(lh_close(lh), 0, "the old attachment closes");
	is(lh_release(fresh, &mine), 0, "the new one is unharmed");
	t_close(fresh);
}

int
main(void)
{
	learn_it(false);
	learn_it(true);
	return done();
}
