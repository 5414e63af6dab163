/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of a reaper: see scenario.h.
 *
 * The operation is one pass over everything there is: a first one, so that
 * nothing is known yet, with all the time that it may want.  Nobody needs
 * what the reaper does, so a pass that is killed or stopped anywhere must be to
 * the others as if there had been none.
 */
#include "crash/subject.h"
#include "reaper/reap_ops.h"

#define PATIENCE_NS (3600 * NS_PER_SEC)

static struct lhi_reaper *reaper;

static void
begin(struct trial *p)
{
	sub_must(p, lhi_reap_open(&reaper, trial_object(p)), "reap");
	reaper->budget_ns = PATIENCE_NS;
}

static void
prep_reaper(struct trial *p)
{
	prep_bare(p);
	begin(p);
}

/* Its own process's lease is over. */
static void
prep_reaper_lapsed(struct trial *p)
{
	prep_lapsed(p);
	begin(p);
}

/* Keys are to go that have been idle for 1 ms. */
static void
prep_reaper_evicts(struct trial *p)
{
	const struct lhi_reap_opts o = { .evict_idle_ms = 1 };

	prep_warm(p);
	if (lh_evict(sub.lh, NULL, 1) != 0)
		blame(p, "staging: evicted at the first look");
	trial_nap_us(3000);
	begin(p);
	lhi_reap_set(reaper, &o);
}

static void
act_pass(struct trial *p)
{
	int64_t next;

	p->result = lhi_reap_pass(reaper, trial_now_ns(), &next);
}

static void
finish_pass(struct trial *p)
{
	lhi_reap_close(reaper);
	finish_plain(p);
}

#define REAPER .prepare = prep_reaper, .act = act_pass, .finish = finish_pass

static const struct scenario scenarios_reaper[] = {
	{ .name = "reap-nothing", .what = "a pass when all is well",
	  .roles = { HOLDER, WAITER }, REAPER },
	{ .name = "reap-expired", .what = "a lease is over, and nobody waits",
	  .prepare = prep_reaper_lapsed, .act = act_pass,
	  .finish = finish_pass },
	{ .name = "reap-expired-readers", .what = "two readers' leases are "
	  "over, one reads on, one is idle", .roles = { READER_LAPSED, READER,
	  IDLER, READER_LAPSED }, REAPER },
	{ .name = "reap-dead", .what = "one died who held a key",
	  .roles = { DEAD_HOLDER }, REAPER },
	{ .name = "reap-dead-queue", .what = "... who held one and waited for "
	  "another, before somebody", .roles = { HOLDER, DEAD_TANGLED, WAITER },
	  .flags = SC_FIFO, REAPER },
	{ .name = "reap-dead-readers", .what = "one reads, two that read or "
	  "had read have died", .roles = { READER, DEAD_READER, DEAD_IDLER },
	  REAPER },
	{ .name = "reap-half-made", .what = "one died while it made a key",
	  .roles = { DEAD_HALFWAY }, REAPER },
	{ .name = "reap-dying", .what = "... while it evicted one: dying",
	  .roles = { DEAD_EVICTOR(1) }, .flags = SC_LOOSE, REAPER },
	{ .name = "reap-committed", .what = "... committed",
	  .roles = { DEAD_EVICTOR(3) }, .flags = SC_LOOSE, REAPER },
	{ .name = "reap-marked", .what = "... marked",
	  .roles = { DEAD_EVICTOR(4) }, .flags = SC_LOOSE, REAPER },
	{ .name = "reap-evicts", .what = "keys have been idle for long",
	  .flags = SC_LOOSE, .prepare = prep_reaper_evicts, .act = act_pass,
	  .finish = finish_pass },
	{ .name = "reap-full", .what = "dead sessions have all the claims",
	  .roles = { DEAD_CHUNK, DEAD_CHUNK, DEAD_CHUNK, DEAD_CHUNK },
	  .max_leases = 256, REAPER },
};

SCENARIOS(scenarios_reaper)
