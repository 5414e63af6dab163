/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of waits that may be for each other: see scenario.h.  Readers
 * that wait to have their key for themselves, and deadlocks.
 */
#include <errno.h>
#include "crash/subject.h"

static const int says_deadlock[] = { -EDEADLK, -ESTALE, 0 };
static const int says_late_or_stale[] = { -ETIMEDOUT, -ESTALE, 0 };
static const int says_deadlock_or_late[] = { -EDEADLK, -ETIMEDOUT, 0 };

/* The lease begins when everybody is in place. */
static void
begin(struct trial *p)
{
	sub_must(p, lh_extend(sub.lh, &p->lease, p->ttl_ms), "extend");
}

/* Part i comes to wait, as number n of those who do. */
static void
wait_behind(struct trial *p, int i, uint32_t n)
{
	sub_cue(p, i, PART_WAITS);
	sub_await_waiters(p, n);
}

static void
prep_reading(struct trial *p)
{
	prep_warm(p);
	sub.opts.mode = LH_SHARED;
	sub_hold(p, SUB_LONG_MS);
	begin(p);
}

/* Reading; all but part 0 queue up. */
static void
prep_reading_crowd(struct trial *p)
{
	prep_reading(p);
	sub_must(p, lh_extend(sub.lh, &p->lease, SUB_LONG_MS), "extend");
	for (int i = 1; i < p->n_parts; i++)
		wait_behind(p, i, (uint32_t)i);
	begin(p);
}

/* Reading, and part 0 as well, which waits to upgrade. */
static void
prep_reading_rival(struct trial *p)
{
	prep_reading(p);
	sub_must(p, lh_extend(sub.lh, &p->lease, SUB_LONG_MS), "extend");
	wait_behind(p, 0, 1);
	begin(p);
}

/* Holding KEY, for which part 0 waits, which holds THIRD. */
static void
prep_entangled(struct trial *p)
{
	struct lh_lease lease;

	prep_attach(p);
	sub_must(p, lh_key_open(sub.lh, KEY, 0, &sub.key), "open the key");
	sub_must(p, lh_acquire(sub.lh, OTHER, NULL, &lease), "warm up");
	sub_must(p, lh_release(sub.lh, &lease), "warm up");
	sub_hold(p, SUB_LONG_MS);
	wait_behind(p, 0, 1);
	begin(p);
}

static void
upgrade(struct trial *p, int64_t wait_ms)
{
	struct lh_acquire_opts o = participant_opts(p->ttl_ms, wait_ms);

	p->result = lh_convert_wait(sub.lh, &p->lease, LH_EXCLUSIVE, &o);
	sub_granted(p);
}

static void
act_upgrade(struct trial *p)
{
	upgrade(p, 20000);
}

static void
act_upgrade_brief(struct trial *p)
{
	upgrade(p, p->wait_ms);
}

/* Acquires THIRD, which is held. */
static void
act_acquire_third(struct trial *p)
{
	struct lh_acquire_opts o = participant_opts(p->ttl_ms, 200);

	p->result = lh_acquire(sub.lh, THIRD, &o, &sub.third);
}

static void
finish_entangled(struct trial *p)
{
	int error;

	if (sub_plausible(p) && p->result == 0)
		blame(p, "G1: what another holds was granted");
	sub_no_overlap(p);
	error = lh_release(sub.lh, &p->lease);
	if (error != 0 && error != -ESTALE)
		blame(p, "release after a deadlock: %s", lh_strerror(error));
	sub_let_go(p);
}

static const struct scenario scenarios_deadlock[] = {
	{ .name = "upgrade-wait-granted", .what = "wait until a reader leaves; "
	  "a writer and a reader wait", .roles = { READER_YIELDER, FOLLOWER,
	  READER_FOLLOWER }, .flags = SC_FIFO, .min_states = 8,
	  .stop_ttl_ms = 120, .prepare = prep_reading_crowd,
	  .act = act_upgrade, .finish = finish_convert,
	  .allowed = says_late_or_stale },
	{ .name = "upgrade-wait-over", .what = "the same, beside idle ones",
	  .roles = { IDLER, READER_YIELDER }, .flags = SC_FIFO, .min_states = 8,
	  .stop_ttl_ms = 120, .prepare = prep_reading, .act = act_upgrade,
	  .finish = finish_convert, .allowed = says_late_or_stale },
	{ .name = "upgrade-wait-timeout", .what = "wait and time out",
	  .roles = { READER }, .flags = SC_FIFO, .min_states = 8,
	  .stop_ttl_ms = 120, .prepare = prep_reading,
	  .act = act_upgrade_brief, .finish = finish_convert,
	  .allowed = says_late_or_stale },
	{ .name = "upgrade-wait-second", .what = "another waits to upgrade",
	  .roles = { UPGRADER }, .stop_ttl_ms = 120,
	  .prepare = prep_reading_rival, .act = act_upgrade,
	  .finish = finish_convert, .allowed = says_deadlock },
	{ .name = "shared-release-upgrade", .what = "beside one that waits to "
	  "upgrade", .roles = { UPGRADER }, .prepare = prep_reading_rival,
	  .act = act_release, .finish = finish_plain, .allowed = says_stale },
	{ .name = "deadlock-of-two", .what = "wait for one who waits for us",
	  .roles = { ENTANGLED }, .flags = SC_FIFO, .stop_ttl_ms = 250,
	  .prepare = prep_entangled, .act = act_acquire_third,
	  .finish = finish_entangled, .allowed = says_deadlock_or_late },
};

SCENARIOS(scenarios_deadlock)
