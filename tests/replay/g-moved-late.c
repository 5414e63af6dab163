/* SPDX-License-Identifier: MIT */
/*
 * Who moves a lease of a named session is stopped, and what he moves has ended
 * when he goes on: he says nothing of a later use of the claim, whoever has
 * released the lease is told so, and the key is kept back all the same.
 */
#include <errno.h>
#include <stdio.h>
#include "base/bits.h"
#include "replay.h"

#define SESSIONS 6		/* that the table has room for */

static struct lh *lh, *other;

static int
strict(struct lh *at, const char *key, struct lh_session *to, uint32_t mode,
    struct lh_lease *l)
{
	return replay_into(at, key, to, LH_POLICY_STRICT, mode, l);
}

struct call {
	struct lh_session *to;
	struct lh_lease lease;
};

static int
hand_over(void *arg)
{
	struct call *c = arg;

	return lh_handoff(lh, &c->lease, c->to);
}

static int
downgrade(void *arg)
{
	return lh_convert(lh, arg, LH_SHARED);
}

static int
release(void *arg)
{
	return lh_release(other, arg);
}

struct child {
	char table[64];
	struct lh_lease lease;
};

static int
child_downgrades(void *arg)
{
	struct child *x = arg;

	return lh_convert(replay_open(x->table, SESSIONS), &x->lease,
	    LH_SHARED);
}

static int
child_releases(void *arg)
{
	struct child *x = arg;

	return lh_release(replay_open(x->table, SESSIONS), &x->lease);
}

/* What is said of an earlier use, by one who was killed, does not keep who
 * releases the lease from saying so of its own. */
static void
earlier_use(struct child *x)
{
	struct lh_session *s = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	struct lh_lease l;

	is(strict(lh, "k", s, LH_EXCLUSIVE, &x->lease), 0, "a lease");
	replay_killed_at("child", "convert.swapped", child_downgrades, x);
	is(replay_find(lh, "k", &x->lease), 0, "it is a reader's");
	is(lh_convert(lh, &x->lease, LH_EXCLUSIVE), 0, "and not any more");
	replay_killed_at("child", "release.word_freed", child_releases, x);
	is(strict(lh, "k", s, LH_EXCLUSIVE, &l), 0, "another lease");
	is(replay_leases_in(s), 1, "has the claim");
	is(lh_release(lh, &l), 0, "release");
	replay_session_end(s);
}

static int
child_hands_over(void *arg)
{
	struct lh *mine = replay_open(arg, SESSIONS);
	struct lh_lease l;

	is(strict(mine, "k", NULL, LH_EXCLUSIVE, &l), 0, "its own lease");
	return lh_handoff(mine, &l, replay_session(mine, "s", REPLAY_LONG_MS,
	    0));
}

/* The mover has won the state when the lease is released, and its claim is used
 * again, by one who is killed. */
static void
later_use(void *table)
{
	struct lh_session *s = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	struct call c = { .to = replay_session(lh, "u", REPLAY_LONG_MS, 0) };
	struct lh_lease l;

	is(strict(lh, "k", s, LH_EXCLUSIVE, &c.lease), 0, "a lease");
	l = c.lease;
	replay_stop("mover", "handoff.taken", hand_over, &c);
	is(lh_release(lh, &l), 0, "it is released");
	replay_killed_at("child", "handoff.announced", child_hands_over, table);
	is(replay_finish("mover"), -ESTALE, "and not handed over");
	is(strict(lh, "k", s, LH_EXCLUSIVE, &l), 0, "another lease");
	is(replay_leases_in(s), 1, "has the claim");
	is(lh_release(lh, &l), 0, "release");
	is(replay_leases_in(s), 0, "nothing is left");
	replay_session_end(c.to);
	replay_session_end(s);
}

/* The claim is taken back between the release of the word and that of the
 * claim. */
static void
released(void)
{
	struct lh_session *s = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	struct call c = { .to = replay_session(lh, "u", REPLAY_LONG_MS, 0) };
	struct lh_lease l, n;

	is(strict(lh, "k", s, LH_EXCLUSIVE, &c.lease), 0, "a lease");
	l = c.lease;
	replay_stop_nth("mover", "lease.moving", 2, hand_over, &c);
	replay_stop("releaser", "release.word_freed", release, &l);
	is(strict(lh, "k2", s, LH_EXCLUSIVE, &n), 0, "another");
	ok(lid_claim(n.id[1]) == lid_claim(l.id[1]), "has the claim");
	is(replay_finish("releaser"), 0, "it was released");
	is(replay_finish("mover"), -ESTALE, "and not handed over");
	is(lh_verify(lh, &n), 0, "the other one is held");
	is(lh_release(lh, &n), 0, "release");
	replay_session_end(c.to);
	replay_session_end(s);
}

/* The one record of a session that is not in use is that of one that ended. */
static int
bury(void *unused)
{
	(void)unused;
	replay_session_end(replay_session(lh, "e", REPLAY_LONG_MS, 0));
	return 0;
}

/* Who buries it has gone by the claim when its lease becomes a reader's. */
static void
buried(void)
{
	struct lh_session *d = replay_session(lh, "d", t_long(300),
	    t_long(1500));
	struct lh_session *fill[SESSIONS];
	struct lh_lease l, r, n;
	char name[] = "0";

	for (int i = 3; i < SESSIONS; i++, name[0]++)
		fill[i] = replay_session(lh, name, REPLAY_LONG_MS, 0);
	is(strict(lh, "k", d, LH_EXCLUSIVE, &l), 0, "a lease");
	is(strict(lh, "r", d, LH_SHARED, &r), 0, "another, a reader's");
	ok(lid_claim(r.id[1]) > lid_claim(l.id[1]), "whose claim comes later");
	replay_stop("converter", "lease.moving", downgrade, &l);
	t_sleep_ms(t_long(350));
	replay_stop("burier", "chain.marked", bury, NULL);
	is(replay_finish("converter"), -ESTALE, "it came too late");
	is(replay_finish("burier"), 0, "it is buried");
	is(replay_try(other, "k", &n), -EAGAIN, "the key is kept back");
	t_sleep_ms(t_long(1600));
	is(replay_try(other, "k", &n), 0, "for a time");
	is(lh_release(other, &n), 0, "release");
	lh_session_close(d);
	for (int i = 3; i < SESSIONS; i++)
		replay_session_end(fill[i]);
}

static void
play_all(void)
{
	const char *table = replay_begin();
	struct child *x = t_shared(sizeof(*x));

	(void)snprintf(x->table, sizeof(x->table), "%s", table);
	lh = replay_open(table, SESSIONS);
	later_use(x->table);
	earlier_use(x);
	other = replay_open(table, SESSIONS);
	released();
	buried();
	is(t_findings(lh), 0, "nothing is wrong");
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 290, "moved late");
	return done();
}
