/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, issue 21 B5, invariants I1 and I2 of shm/table_age.c: an
 * acquire that began when the table was young enough, and goes on when it is
 * too old, is refused.  A strict lease stays held when the last deadline that
 * the table can express has passed.  A thread is stopped in an acquire before
 * it reads the clock for its deadline; meanwhile the table becomes too old.
 *
 * Otherwise a lease would get a deadline that counts as passed at once, or the
 * strict holder would lose its key.
 */
#include <errno.h>
#include "shm/table_age.h"
#include "support/moved_clock.h"
#include "replay.h"

/* Acquires with an option that takes the slow path. */
static int
acquire_live(void *lh)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(60000, 0);
	struct lh_lease l;

	more.policy = LH_POLICY_LIVE;
	o.more = &more;
	return lh_acquire(lh, "k", &o, &l);
}

int
main(void)
{
	const char *table;
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(60000, 0);
	struct lh *lh, *other;
	struct lh_lease strict;

	t_clock_begin();
	table = replay_begin();
	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	t_clock_age(AGE_GRANTS_NS - 3600 * NS_PER_SEC);
	more.policy = LH_POLICY_STRICT;
	o.more = &more;
	is(lh_acquire(lh, "strict", &o, &strict), 0, "a strict lease");

	replay_stop("late", "acquire.marked", acquire_live, other);
	t_clock_age(AGE_GRANTS_NS + NS_PER_SEC);
	is(replay_finish("late"), -EOVERFLOW, "the late acquire is refused");
	is(t_holders(lh, "k"), 0, "and has granted nothing");

	t_clock_age(AGE_MAX_NS + 3600 * NS_PER_SEC);
	is(lh_verify(lh, &strict), 0, "the strict lease is held");
	is(lh_release(lh, &strict), 0, "and can be released");
	t_clock_back();
	t_close(other);
	t_close(lh);
	return done();
}
