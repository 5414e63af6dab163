/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of policies: see scenario.h.
 *
 * The subject itself checks a lease under policy live and moves its deadline:
 * it tries a key that another lease of its own holds, and fails.  The ttl of
 * that lease is so short that its deadline is near from the beginning.
 */
#include "crash/subject.h"
#include "shm/layout.h"

#define NEAR_MS 50

static struct lh_acquire_more strict = LH_ACQUIRE_MORE_INIT,
    live = LH_ACQUIRE_MORE_INIT;

static void
prep_strict(struct trial *p)
{
	prep_warm(p);
	strict.policy = LH_POLICY_STRICT;
	sub.opts.more = &strict;
}

static void
prep_live(struct trial *p)
{
	prep_warm(p);
	live.policy = LH_POLICY_LIVE;
	sub.opts.more = &live;
}

static void
prep_live_reader(struct trial *p)
{
	prep_live(p);
	sub.opts.mode = LH_SHARED;
}

static void
prep_live_wait(struct trial *p)
{
	prep_live(p);
	sub.opts.max_wait_ms = SUB_WAIT_MS;
}

static void
prep_watched(struct trial *p)
{
	struct lh_acquire_opts o = participant_opts(NEAR_MS, 0);

	prep_live(p);
	o.more = &live;
	sub_must(p, lh_acquire(sub.lh, KEY, &o, &sub.third), "hold it");
	sub.opts.max_wait_ms = 0;
	sub.opts.more = NULL;
}

static void
prep_held_live(struct trial *p)
{
	struct lh_acquire_opts o = participant_opts(p->ttl_ms, 0);

	prep_live(p);
	o.more = &live;
	sub_must(p, lh_acquire(sub.lh, KEY, &o, &p->lease), "hold it");
	p->has_lease = true;
	trial_saw_token(p, p->lease.token);
}

static void
act_down(struct trial *p)
{
	p->result = lh_convert(sub.lh, &p->lease, LH_SHARED);
	sub_granted(p);
}

/* To this very attachment: another claim, and another token. */
static void
act_hand_over(struct trial *p)
{
	p->result = lh_handoff(sub.lh, &p->lease, NULL);
	sub_granted(p);
}

static const struct scenario scenarios_policy[] = {
	{ .name = "live-acquire", .what = "under policy live",
	  .prepare = prep_live, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "live-shared", .what = "the same, to read",
	  .prepare = prep_live_reader, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "live-wait", .what = "the same, from the queue",
	  .roles = { YIELDER }, .flags = SC_FIFO, .prepare = prep_live_wait,
	  .act = act_acquire, .finish = finish_acquire },
	{ .name = "live-tend", .what = "try, and see that the holder runs",
	  .prepare = prep_watched, .act = act_acquire,
	  .finish = finish_acquire, .allowed = says_busy },
	{ .name = "live-extend", .what = "a lease under policy live",
	  .prepare = prep_held_live, .act = act_extend,
	  .finish = finish_extend, .allowed = says_stale },
	{ .name = "live-release", .what = "a lease under policy live",
	  .prepare = prep_held_live, .act = act_release,
	  .finish = finish_plain, .allowed = says_stale },
	{ .name = "live-downgrade", .what = "a lease under policy live",
	  .stop_ttl_ms = 120, .prepare = prep_held_live, .act = act_down,
	  .finish = finish_acquire, .allowed = says_stale },
	{ .name = "live-handoff", .what = "a lease under policy live",
	  .stop_ttl_ms = 120, .prepare = prep_held_live, .act = act_hand_over,
	  .finish = finish_acquire, .allowed = says_stale },
	/* of a key that nobody else asks for: it has no deadline */
	{ .name = "strict-acquire", .what = "under policy strict",
	  .prepare = prep_strict, .act = act_acquire_new,
	  .finish = finish_alone },
};

SCENARIOS(scenarios_policy)
