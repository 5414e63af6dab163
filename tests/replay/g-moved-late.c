/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G9, named sessions (crash rows SE4 and SE6): a caller that moves a
 * lease of a named session is stopped, and the lease has ended when it goes on.
 * It must not mark a later use of the claim as moving, a release of the lease
 * must report success, and the key must be reserved for the lock-delay of an
 * ended session.
 *
 * Otherwise a claim would be lost for the session, a release would report a
 * lost lease that it had ended itself, or the lock-delay would be left out.
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

/* A mark of an earlier use, left by a killed process, does not keep a release
 * from marking its own use. */
static void
earlier_use(struct child *x)
{
	struct lh_session *s = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	struct lh_lease l;

	is(strict(lh, "k", s, LH_EXCLUSIVE, &x->lease), 0, "a lease");
	replay_killed_at("child", "convert.swapped", child_downgrades, x);
	is(replay_find(lh, "k", &x->lease), 0, "the lease is a reader's");
	is(lh_convert(lh, &x->lease, LH_EXCLUSIVE), 0, "and is upgraded again");
	replay_killed_at("child", "release.word_freed", child_releases, x);
	is(strict(lh, "k", s, LH_EXCLUSIVE, &l), 0, "another lease");
	is(replay_leases_in(s), 1, "uses the claim");
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

/* The mover has won the state when the lease is released; its claim is used
 * again by a process that is killed. */
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
	is(replay_finish("mover"), -ESTALE, "the hand-off fails");
	is(strict(lh, "k", s, LH_EXCLUSIVE, &l), 0, "another lease");
	is(replay_leases_in(s), 1, "uses the claim");
	is(lh_release(lh, &l), 0, "release");
	is(replay_leases_in(s), 0, "nothing is left");
	replay_session_end(c.to);
	replay_session_end(s);
}

/* The claim is reclaimed between the release of the word and that of the
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
	is(strict(lh, "k2", s, LH_EXCLUSIVE, &n), 0, "another lease");
	ok(lid_claim(n.id[1]) == lid_claim(l.id[1]), "uses the claim");
	is(replay_finish("releaser"), 0, "the release succeeds");
	is(replay_finish("mover"), -ESTALE, "the hand-off fails");
	is(lh_verify(lh, &n), 0, "the other lease is held");
	is(lh_release(lh, &n), 0, "release");
	replay_session_end(c.to);
	replay_session_end(s);
}

/* Opens a session in the only free record, which is that of an ended
 * session. */
static int
bury(void *unused)
{
	(void)unused;
	replay_session_end(replay_session(lh, "e", REPLAY_LONG_MS, 0));
	return 0;
}

/* The burial has passed the claim when its lease becomes a reader's. */
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
	is(strict(lh, "r", d, LH_SHARED, &r), 0, "and a reader's lease");
	ok(lid_claim(r.id[1]) > lid_claim(l.id[1]), "whose claim comes later");
	replay_stop("converter", "lease.moving", downgrade, &l);
	t_sleep_ms(t_long(350));
	replay_stop("burier", "chain.marked", bury, NULL);
	is(replay_finish("converter"), -ESTALE, "the downgrade is too late");
	is(replay_finish("burier"), 0, "the session is buried");
	is(replay_try(other, "k", &n), -EAGAIN,
	    "the key is reserved for the lock-delay");
	t_sleep_ms(t_long(1600));
	is(replay_try(other, "k", &n), 0, "until the lock-delay is over");
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
	is(t_findings(lh), 0, "the table is sound");
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 290, "moved late");
	return done();
}
