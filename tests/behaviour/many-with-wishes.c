/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: the options of an acquire apply to each of several keys.  In a
 * named session they outlive the attachment and end with the session; under
 * policy strict they have no deadline, under policy live one.
 *
 * Otherwise some keys of a set would end earlier than the others.
 */
#include <errno.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static const struct lh_item items[] = { { .key = "b" }, { .key = "a" },
	{ .key = "c", .mode = LH_SHARED } };

static int
held(struct lh *lh)
{
	return t_holders(lh, "a") + t_holders(lh, "b") + t_holders(lh, "c");
}

static void
in_session(const char *table)
{
	struct lh_acquire_opts o = t_opts(60000, 0);
	struct lh_acquire_more m = LH_ACQUIRE_MORE_INIT;
	struct lh *lh = t_open(table), *other = t_open(table);
	struct lh_session *s;
	struct lh_lease l[3], mine;

	is(lh_session_open(lh, "many", NULL, &s), 0, "a session");
	m.session = s;
	o.more = &m;
	is(lh_acquire_many(lh, items, 3, &o, l), 0,
	    "all keys are acquired in it");
	ok(l[0].id[0] == l[1].id[0] && l[0].id[0] == l[2].id[0] &&
	    l[0].id[0] != lh_session_id(lh), "it has them");
	is(lh_release_many(lh, l, 3), 0, "and can be released");
	mine = t_hold(other, "c");
	is(lh_acquire_many(lh, items, 3, &o, l), -EAGAIN, "one is busy");
	is(held(other), 1, "nothing is left in the session");
	is(lh_release(other, &mine), 0, "free again");
	is(lh_acquire_many(lh, items, 3, &o, l), 0,
	    "all keys are acquired in it");
	lh_session_close(s);
	is(lh_close(lh), 0, "the attachment goes");
	is(held(other), 3, "the leases stay");
	is(lh_session_open(other, "many", NULL, &s), 0, "found again");
	is(lh_session_destroy(s), 0, "and ended");
	is(held(other), 0, "with its leases");
	lh_session_close(s);
	t_close(other);
}

static void
policy(const char *table, uint32_t wanted, const char *name)
{
	struct lh_acquire_opts o = t_opts(t_ms(200), 0);
	struct lh_acquire_more m = LH_ACQUIRE_MORE_INIT;
	struct lh *lh = t_open(table), *other = t_open(table);
	struct lh_lease l[3];

	m.policy = wanted;
	o.more = &m;
	is(lh_acquire_many(lh, items, 3, &o, l), 0, "%s: all keys are acquired",
	    name);
	t_sleep_ms(t_ms(500));
	is(held(other), wanted == LH_POLICY_STRICT ? 3 : 0, "%s: a ttl later",
	    name);
	is(lh_release_many(lh, l, 3), wanted == LH_POLICY_STRICT ? 0 : -ESTALE,
	    "%s: released", name);
	is(held(other), 0, "%s: all are free", name);
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	in_session(t_table());
	policy(t_table(), LH_POLICY_STRICT, "strict");
	policy(t_table(), LH_POLICY_LIVE, "live");
	return done();
}
