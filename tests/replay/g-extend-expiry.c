/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G3: an extension that races the lease's expiry.  Exactly one of the
 * two wins: the extension returns 0, and everyone else finds the key busy at
 * the old deadline; or it returns -ESTALE, and somebody else acquires the key.
 *
 * Otherwise the holder and the next one would both hold the key, or neither of
 * them.
 */
#include "replay.h"

#define TTL_MS t_long(300)

static struct lh *lh, *other;
static struct replay_call holder;

/* Acquires k, and stops a long extension of it at `point`. */
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
	is(lh_verify(other, l), 0, "the next holder's lease is held");
	is(lh_verify(lh, &holder.lease), -ESTALE,
	    "the former holder's is lost");
	is(lh_release(other, l), 0, "release");
}

static void
kept(void)
{
	struct lh_lease l;

	is(lh_verify(lh, &holder.lease), 0, "the holder's lease is held");
	is(replay_try(other, "k", &l), -EAGAIN, "nobody else acquires the key");
	is(lh_release(lh, &holder.lease), 0, "release");
}

/* The deadline passes before the swap, and another acquires the key. */
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
	is(replay_try(other, "k", &l), 0, "then another acquires the key");
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

/* The expirer is stopped before its swap; the holder extends too late. */
static void
stopped_expirer(void)
{
	struct replay_call expirer = REPLAY_CALL(other, "k", REPLAY_LONG_MS, 0);

	begin(NULL);
	replay_sleep_past(&holder.lease);
	replay_stop("expirer", "cas", replay_acquire, &expirer);
	is(replay_extend(&holder), -ESTALE, "past the deadline: not extended");
	is(replay_finish("expirer"), 0, "the expirer acquires the key");
	taken(&expirer.lease);
}

/* The expirer has read the deadline before a timely extension, and goes on when
 * that deadline has passed. */
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
