/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4, named sessions (crash row SE4): several callers present one
 * lease of a named session at once, to hand it over or to convert it.  A caller
 * that comes too late must leave the claim's marks of the winner as they are:
 * the claim of a killed winner comes back to the session, and a lease that goes
 * on as a reader's has no lock-delay.
 *
 * Otherwise the late caller would take away the winner's mark, and the claim
 * would be lost when the winner dies.
 */
#include <errno.h>
#include <stdio.h>
#include "replay.h"

static struct lh *lh, *other;

static int
strict(struct lh *at, struct lh_session *to, struct lh_lease *l)
{
	return replay_into(at, "k", to, LH_POLICY_STRICT, LH_EXCLUSIVE, l);
}

struct call {
	struct lh *lh;
	struct lh_session *to;
	struct lh_lease lease;
};

static int
acquire(void *arg)
{
	struct call *c = arg;

	return strict(c->lh, c->to, &c->lease);
}

static int
downgrade(void *arg)
{
	struct call *c = arg;

	return lh_convert(c->lh, &c->lease, LH_SHARED);
}

static int
hand_over(void *arg)
{
	struct call *c = arg;

	return lh_handoff(c->lh, &c->lease, c->to);
}

struct child {
	char table[64];
	struct lh_lease lease;
};

static int
child_hands_over(void *arg)
{
	struct child *x = arg;
	struct lh *mine = replay_open(x->table, 0);

	return lh_handoff(mine, &x->lease, replay_session(mine, "t",
	    REPLAY_LONG_MS, 0));
}

/* A process hands the lease over to "t", and is killed just after that. */
static void
handed_over_and_killed(struct child *x, const struct lh_lease *l)
{
	x->lease = *l;
	replay_killed_at("child", "handoff.swapped", child_hands_over, x);
}

/* Another caller is stopped at that point meanwhile, and must fail. */
static void
loser(struct child *x, const char *what, int (*fn)(void *), const char *point)
{
	struct lh_session *s = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	struct lh_session *t = replay_session(lh, "t", REPLAY_LONG_MS, 0);
	struct call c = { .lh = lh, .to = replay_session(lh, "u",
	    REPLAY_LONG_MS, 0) };
	struct lh_lease l;

	is(strict(lh, s, &c.lease), 0, "%s: a lease", what);
	l = c.lease;
	replay_stop("presenter", point, fn, &c);
	handed_over_and_killed(x, &l);
	is(replay_finish("presenter"), -ESTALE, "%s: lost", what);
	replay_session_end(t);
	is(strict(lh, s, &l), 0, "another lease");
	is(replay_leases_in(s), 1, "uses its claim");
	is(lh_release(lh, &l), 0, "release");
	is(replay_leases_in(s), 0, "nothing is left");
	replay_session_end(c.to);
	replay_session_end(s);
}

/* An acquire into a session is stopped after its swap, and the process that
 * finds its lease hands it on. */
static void
taker(struct child *x)
{
	struct lh_session *s = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	struct lh_session *t = replay_session(lh, "t", REPLAY_LONG_MS, 0);
	struct call c = { .lh = other, .to = replay_session(other, "s",
	    REPLAY_LONG_MS, 0) };
	struct lh_lease l;

	replay_stop("presenter", "handoff.swapped", acquire, &c);
	is(replay_find(lh, "k", &l), 0, "another process finds the lease");
	handed_over_and_killed(x, &l);
	is(replay_finish("presenter"), -ESTALE, "the lease has been handed on");
	replay_session_end(t);
	is(strict(lh, s, &l), 0, "another lease");
	is(replay_leases_in(s), 1, "uses its claim");
	is(lh_release(lh, &l), 0, "release");
	lh_session_close(c.to);
	replay_session_end(s);
}

/* The lease becomes a reader's before it is handed over: the session's end
 * causes no lock-delay. */
static void
reader(void)
{
	struct lh_session *s = replay_session(lh, "d", t_long(300),
	    t_long(1500));
	struct call c = { .lh = lh, .to = replay_session(lh, "u",
	    REPLAY_LONG_MS, 0) };
	struct lh_lease l, n;

	is(strict(lh, s, &c.lease), 0, "a lease");
	l = c.lease;
	replay_stop("presenter", "handoff.announced", hand_over, &c);
	is(lh_convert(lh, &l, LH_SHARED), 0, "it becomes a reader's");
	is(replay_finish("presenter"), -ESTALE, "and the hand-off fails");
	t_sleep_ms(t_long(350));
	is(replay_try(other, "k", &n), 0,
	    "the session's end causes no lock-delay");
	is(lh_release(other, &n), 0, "release");
	replay_session_end(c.to);
	lh_session_close(s);
}

static void
play_all(void)
{
	const char *table = replay_begin();
	struct child *x = t_shared(sizeof(*x));

	(void)snprintf(x->table, sizeof(x->table), "%s", table);
	lh = replay_open(table, 0);
	loser(x, "downgrade", downgrade, "convert.prepared");
	loser(x, "hand-off", hand_over, "handoff.announced");
	other = replay_open(table, 0);
	taker(x);
	reader();
	is(t_findings(lh), 0, "the table is sound");
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 290, "movers together");
	return done();
}
