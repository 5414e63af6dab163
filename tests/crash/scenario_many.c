/* SPDX-License-Identifier: MIT */
/*
 * Many keys at once.  KEY is the last in order, so that there is always one
 * that is held already; that one is a name which nobody else asks for.
 */
#include <errno.h>
#include "crash/subject.h"

#define FIRST "a-first"

static const int says_busy_or_late[] = { -EAGAIN, -ETIMEDOUT, 0 };

static struct lh_lease leases[2];

static void
act_many(struct trial *p)
{
	static const struct lh_item items[2] = {
		{ .key = KEY }, { .key = FIRST }
	};

	p->result = lh_acquire_many(sub.lh, items, 2, &sub.opts, leases);
	p->lease = leases[0];
	sub_granted(p);
}

static void
prep_many_held(struct trial *p)
{
	prep_warm(p);
	act_many(p);
	sub_must(p, p->result, "hold two");
}

static void
act_release_many(struct trial *p)
{
	p->result = lh_release_many(sub.lh, leases, 2);
}

static const struct scenario scenarios_many[] = {
	{ .name = "many-free", .what = "two keys at once, both free",
	  .stop_ttl_ms = 120, .prepare = prep_warm_try, .act = act_many,
	  .finish = finish_acquire, .allowed = says_busy },
	{ .name = "many-busy", .what = "try, while the last is held",
	  .roles = { HOLDER }, .prepare = prep_warm_try, .act = act_many,
	  .finish = finish_acquire, .allowed = says_busy },
	{ .name = "many-timeout", .what = "time out on the last",
	  .flags = SC_FIFO, .roles = { HOLDER }, .prepare = prep_warm_brief,
	  .min_states = QUEUED_STATES, .act = act_many,
	  .finish = finish_acquire, .allowed = says_busy_or_late },
	/* a first lease that is lost under the stepper is acquired again: to
	 * limit this, the wait is short and the ttl is not */
	{ .name = "many-granted", .what = "wait until the last is released",
	  .flags = SC_FIFO, .roles = { YIELDER }, .stop_ttl_ms = 400,
	  .prepare = prep_warm, .act = act_many, .finish = finish_acquire,
	  .allowed = says_late },
	{ .name = "many-release", .what = "release two keys",
	  .prepare = prep_many_held, .act = act_release_many,
	  .finish = finish_plain, .allowed = says_stale },
};

SCENARIOS(scenarios_many)
