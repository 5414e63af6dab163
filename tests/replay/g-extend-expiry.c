/* SPDX-License-Identifier: MIT */
/*
 * An extension that races the lease's expiry: exactly one of them wins.  Either
 * extend says 0, and everyone else finds the key busy at the old deadline; or
 * it says -ESTALE, and somebody else gets the key; never both, never neither.
 */
#include "replay.h"

#define TTL_MS t_long(300)

static struct lh *lh, *other;
static struct replay_call holder;

/* k is held, and an extension to long of it stands at `point`. */
static void
begin(const char *point)
{
	holder = (struct replay_call)REPLAY_CALL(lh, "k", TTL_MS, 0);
	is(replay_acquire(&holder), 0, "k is held");
	holder.ttl_ms = REPLAY_LONG_MS;
	if (point == NULL)
		return;
	replay_stop("extender", point, replay_extend, &holder);
}

static void
taken(struct lh_lease *l)
{
	is(lh_verify(other, l), 0, "the next holder has it");
	is(lh_verify(lh, &holder.lease), -ESTALE, "the former one does not");
	is(lh_release(other, l), 0, "release");
}

static void
kept(void)
{
	struct lh_lease l;

	is(lh_verify(lh, &holder.lease), 0, "the holder has it");
	is(replay_try(other, "k", &l), -EAGAIN, "nobody else does");
	is(lh_release(lh, &holder.lease), 0, "release");
}

/* The deadline passes before the swap, and somebody takes the key. */
static void
expiry_first(const char *point)
{
	struct lh_lease l;

	begin(point);
	replay_sleep_past(&holder.lease);
	is(replay_try(other, "k", &l), 0, "%s: the expiry comes first", point);
	is(replay_finish("extender"), -ESTALE, "the extension fails");
	taken(&l);
}

/* Swapped in time, but the clock is looked at too late: undone. */
static void
win_undone(void)
{
	struct lh_lease l;

	begin("extend.swapped");
	replay_sleep_past(&holder.lease);
	is(replay_try(other, "k", &l), -EAGAIN, "swapped: busy for others");
	is(replay_finish("extender"), -ESTALE, "but late, and undone");
	is(replay_try(other, "k", &l), 0, "then others get it");
	taken(&l);
}

static void
in_time(const char *point)
{
	struct lh_lease l, old;

	begin(point);
	old = holder.lease;
	is(replay_try(other, "k", &l), -EAGAIN, "before the deadline: busy");
	is(replay_finish("extender"), 0, "%s: extended in time", point);
	replay_sleep_past(&old);
	is(replay_try(other, "k", &l), -EAGAIN, "past the old deadline: busy");
	kept();
}

/* The expirer stands before its swap; the holder extends, but too late. */
static void
stopped_expirer(void)
{
	struct replay_call expirer = REPLAY_CALL(other, "k", REPLAY_LONG_MS, 0);

	begin(NULL);
	replay_sleep_past(&holder.lease);
	replay_stop("expirer", "cas", replay_acquire, &expirer);
	is(replay_extend(&holder), -ESTALE, "past the deadline: not extended");
	is(replay_finish("expirer"), 0, "who came to expire it gets it");
	taken(&expirer.lease);
}

/*
 * The expirer has seen the deadline as it was before an extension that was in
 * time, and goes on when the clock is past it.
 */
static void
stale_expirer(void)
{
	struct replay_call expirer = REPLAY_CALL(other, "k", REPLAY_LONG_MS, 0);
	struct lh_lease old;

	begin(NULL);
	old = holder.lease;
	replay_stop("expirer", "lock.word_loaded", replay_acquire, &expirer);
	is(replay_extend(&holder), 0, "extended in time");
	replay_sleep_past(&old);
	is(replay_finish("expirer"), -EAGAIN, "the expirer finds it busy");
	kept();
}

static void
play_all(void)
{
	const char *table = replay_begin();
	struct lh_lease l;

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	l = t_hold(other, "other");	/* it has claims now */
	is(lh_release(other, &l), 0, "release");
	in_time("cas");
	in_time("extend.checked");
	in_time("extend.swapped");
	expiry_first("cas");
	expiry_first("extend.checked");
	win_undone();
	stopped_expirer();
	stale_expirer();
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 290, "extend expiry");
	return done();
}
