/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of explanations: see scenario.h.  They change nothing but what
 * every look at a key does, and what the failing acquire does anyway.
 */
#include "crash/subject.h"

static void
prep_brief(struct trial *p)
{
	prep_warm_brief(p);
	sub.opts.flags |= LH_EXPLAIN;
}

static void
prep_try(struct trial *p)
{
	prep_warm_try(p);
	sub.opts.flags |= LH_EXPLAIN;
}

static int
nothing(const struct lh_key_info *info, void *arg)
{
	(void)info;
	(void)arg;
	return 0;
}

static void
act_explain(struct trial *p)
{
	p->result = lh_explain(sub.lh, KEY, nothing, NULL);
}

static const struct scenario scenarios_explain[] = {
	{ .name = "explain-dead", .what = "a holder that died",
	  .roles = { DEAD_HOLDER }, .prepare = prep_warm, .act = act_explain,
	  .finish = finish_plain, .allowed = says_busy },
	{ .name = "explain-readers", .what = "readers, one of them dead",
	  .roles = { READER, DEAD_READER }, .prepare = prep_warm,
	  .act = act_explain, .finish = finish_plain, .allowed = says_busy },
	{ .name = "explain-timeout", .what = "time out, and explain why",
	  .roles = { HOLDER, WAITER }, .prepare = prep_brief,
	  .act = act_acquire, .finish = finish_acquire,
	  .allowed = says_late },
	{ .name = "explain-busy", .what = "find it busy, and explain why",
	  .roles = { READER, DEAD_READER }, .prepare = prep_try,
	  .act = act_acquire, .finish = finish_acquire,
	  .allowed = says_busy },
};

SCENARIOS(scenarios_explain)
