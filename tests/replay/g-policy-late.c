/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G3 and G9, invariants I2 and I3 of op/policy.c: under policy live,
 * an observer that has seen the holder run moves the lease's deadline on, and
 * is stopped in that.  If the lease was ended meanwhile, nothing must change;
 * if its deadline has come, the deadline must be moved back; if the holder has
 * extended the lease, the extension must stay.
 *
 * Otherwise an observer would revive a lease that is over, or would shorten one
 * that its holder had extended.
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

/* Acquires k, and stops an observer at `point` of moving its deadline on. */
static void
begin(const char *point)
{
	struct lh_acquire_opts o = t_opts(TTL_MS, 0);

	o.more = &live;
	is(lh_acquire(lh, "k", &o, &lease), 0, "k is held");
	t_sleep_ms(TTL_MS / 2);		/* so that its deadline is near */
	replay_stop("observer", point, try_it, NULL);
}

static void
end(int result)
{
	is(replay_finish("observer"), result, "the observer's try");
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
	is(lh_verify(lh, &lease), 0, "in time: the deadline was moved on");
	is(lh_release(lh, &lease), 0, "released");

	begin("policy.seen");
	replay_sleep_past(&lease);
	is(replay_try(third, "k", &l), 0,
	    "its deadline has come: another acquires it");
	end(-EAGAIN);
	is(lh_verify(third, &l), 0, "and still holds it");
	is(lh_verify(lh, &lease), -ESTALE, "the first lease is lost");
	is(lh_release(third, &l), 0, "released");

	begin("policy.seen");
	replay_sleep_past(&lease);
	(void)replay_finish("observer");
	is(lh_verify(lh, &lease), -ESTALE,
	    "swapped too late: the deadline was moved back");

	begin("policy.moved");
	replay_sleep_past(&lease);
	(void)replay_finish("observer");
	is(lh_verify(lh, &lease), -ESTALE,
	    "swapped in time, but the clock was read too late: so, too");

	begin("policy.seen");
	is(lh_extend(lh, &lease, REPLAY_LONG_MS), 0, "extended meanwhile");
	end(-EAGAIN);
	is(lh_verify(lh, &lease), 0, "the extension stays");
	is(lh_release(lh, &lease), 0, "released");

	begin("policy.moved");
	old = lease;
	is(lh_extend(lh, &lease, REPLAY_LONG_MS), 0, "extended after the swap");
	replay_sleep_past(&old);
	end(-EAGAIN);
	is(lh_verify(lh, &lease), 0, "the extension is not undone");
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
