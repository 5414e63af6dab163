/* SPDX-License-Identifier: MIT */
/*
 * Policy live: who moves a deadline on, and comes too late.
 *
 * An observer has seen the holder run.  If the lease has been ended meanwhile,
 * nothing happens; if its deadline has come, and nobody has ended it, the
 * deadline is moved back; if the holder has extended it, that stays, whenever
 * the observer swaps or looks at the clock.
 */
#include <errno.h>
#include "replay.h"

#define TTL_MS t_long(200)

static struct lh *lh, *other;
static struct lh_acquire_more live = LH_ACQUIRE_MORE_INIT;
static struct lh_lease lease;

static int
try_it(void *arg)
{
	struct lh_lease l;

	(void)arg;
	return replay_try(other, "k", &l);
}

/* k is held, and somebody who tries stands at `point` of moving it on. */
static void
begin(const char *point)
{
	struct lh_acquire_opts o = t_opts(TTL_MS, 0);

	o.more = &live;
	is(lh_acquire(lh, "k", &o, &lease), 0, "k is held");
	t_sleep_ms(TTL_MS / 2);		/* its deadline is near */
	replay_stop("observer", point, try_it, NULL);
}

static void
end(int result)
{
	is(replay_finish("observer"), result, "who tried");
}

static void
play_all(void)
{
	const char *table = replay_begin();
	struct lh_lease old, l;
	struct lh *third;

	live.policy = LH_POLICY_LIVE;
	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	third = replay_open(table, 0);

	begin("policy.seen");
	old = lease;
	end(-EAGAIN);
	replay_sleep_past(&old);
	is(lh_verify(lh, &lease), 0, "in time: moved on");
	is(lh_release(lh, &lease), 0, "released");

	begin("policy.seen");
	replay_sleep_past(&lease);
	is(replay_try(third, "k", &l), 0, "its deadline has come: taken");
	end(-EAGAIN);
	is(lh_verify(third, &l), 0, "and stays taken");
	is(lh_verify(lh, &lease), -ESTALE, "it is lost");
	is(lh_release(third, &l), 0, "released");

	begin("policy.seen");
	replay_sleep_past(&lease);
	(void)replay_finish("observer");
	is(lh_verify(lh, &lease), -ESTALE, "swapped late: moved back");

	begin("policy.moved");
	replay_sleep_past(&lease);
	(void)replay_finish("observer");
	is(lh_verify(lh, &lease), -ESTALE, "swapped in time, seen late: so, "
	    "too");

	begin("policy.seen");
	is(lh_extend(lh, &lease, REPLAY_LONG_MS), 0, "extended meanwhile");
	end(-EAGAIN);
	is(lh_verify(lh, &lease), 0, "that stays");
	is(lh_release(lh, &lease), 0, "released");

	begin("policy.moved");
	old = lease;
	is(lh_extend(lh, &lease, REPLAY_LONG_MS), 0, "extended after the swap");
	replay_sleep_past(&old);
	end(-EAGAIN);
	is(lh_verify(lh, &lease), 0, "that is not taken back");
	is(lh_release(lh, &lease), 0, "released");

	is(lh_close(lh), 0, "close");
	is(lh_close(third), 0, "close");
	t_close(other);
}

int
main(void)
{
	t_part(play_all, 90, "policy late");
	return done();
}
