/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G4 and G9: the ends of a named session: its ttl is over, it is
 * destroyed, or its maker dies or closes.  Each ends its leases, whatever their
 * own deadlines; after an unclean end the next holder's lease has the note, and
 * the key is reserved for the lock-delay.  With LH_ON_END_DELETE its keys are
 * evicted.
 *
 * Otherwise leases of an ended session would stay held, or be granted too
 * early.
 */
#include <errno.h>
#include "session.h"
#include "support/actor.h"
#include "support/part.h"

static struct lh *lh;

static void
by_ttl(void)
{
	struct lh_session *s = open_session(lh, "ttl", t_long(200), 0, 0);
	struct lh_lease l, m, n;
	int64_t end;

	is(acquire_into(lh, s, "a", LH_EXCLUSIVE, &l), 0, "acquired");
	is(acquire_into(lh, s, "b", LH_SHARED, &m), 0, "acquired");
	for (int i = 0; i < 6; i++) {
		t_sleep_ms(t_long(100));
		ok(lh_session_renew(s) == t_long(200), "renewed at ttl/2");
	}
	is(lh_verify(lh, &l), 0, "it outlives several ttls");
	end = t_now_ns();
	is(t_acquire(lh, "a", 1000, t_long(5000), &n), 0, "not renewed: over");
	ok(t_since_ms(end) >= t_long(200) - 110 &&
	    t_since_ms(end) < t_long(200) + T1_MS, "in time (%lld ms)",
	    (long long)t_since_ms(end));
	is(n.notes, LH_NOTE_PREVIOUS_DIED, "noted");
	cmp(n.token, >, l.token, "with a larger token");
	is(lh_verify(lh, &l), -ESTALE, "the lease is lost");
	is(lh_extend(lh, &l, 1000), -ESTALE, "not to be extended");
	is(lh_release(lh, &l), -ESTALE, "nor released");
	is(lh_verify(lh, &n), 0, "the next holder has it");
	is(lh_release(lh, &n), 0, "release");
	is(lh_verify(lh, &m), -ESTALE, "the reader's is lost, too");
	is(t_acquire(lh, "b", 1000, 0, &n), 0, "a writer gets the key");
	is(lh_release(lh, &n), 0, "release");
	is(lh_session_renew(s), -ESTALE, "it cannot be renewed");
	is(lh_session_destroy(s), -ESTALE, "nor destroyed");
	lh_session_close(s);
}

static void
by_destroy(void)
{
	struct lh_session *s = open_session(lh, "d", t_long(30000), 5000, 0);
	struct lh_session *other = open_session(lh, "d", t_long(500), 0, 0);
	struct lh_lease l, n;

	is(acquire_into(lh, s, "a", LH_EXCLUSIVE, &l), 0, "acquired");
	is(lh_session_destroy(other), 0, "destroyed through another handle");
	is(t_acquire(lh, "a", 1000, 0, &n), 0, "free at once");
	is(n.notes, 0, "without a note, and no lock-delay");
	is(lh_release(lh, &n), 0, "release");
	is(lh_release(lh, &l), -ESTALE, "the lease is lost");
	lh_session_close(other);
	lh_session_close(s);
	s = open_session(lh, "d", t_long(500), 0, LH_CREATE_ONLY);
	is(lh_session_destroy(s), 0, "the name is free for another");
	lh_session_close(s);
}

static int
make(struct t_actor *a, void *arg)
{
	struct lh_session *s = open_session(a->lh, "m", t_long(60000), 0,
	    LH_SESSION_WITH_MAKER);

	return acquire_into(a->lh, s, "a", LH_EXCLUSIVE, &a->lease);
}

static void
by_maker(bool killed)
{
	struct t_actor *a = t_actor(lh_table_name(lh));
	struct lh_lease n;

	is(t_do(a, make, NULL), 0, "a process makes one, to end with it");
	is(t_acquire(lh, "a", 1000, 0, &n), -EAGAIN, "held");
	if (killed)
		t_actor_kill(a);
	else
		t_actor_end(a);
	is(t_acquire(lh, "a", 1000, t_long(2000), &n), 0, killed ?
	    "killed: the key is free" : "closed: likewise");
	is(n.notes, killed ? LH_NOTE_PREVIOUS_DIED : 0, "noted, or not");
	is(lh_release(lh, &n), 0, "release");
	if (killed)
		t_actor_free(a);
}

static void
delayed(void)
{
	int64_t delay = t_long(400), seen, began;
	struct lh_session *s = open_session(lh, "y", t_long(150), delay, 0);
	struct lh_lease l, r, n;

	is(acquire_into(lh, s, "a", LH_EXCLUSIVE, &l), 0, "acquired");
	is(acquire_into(lh, s, "b", LH_SHARED, &r), 0, "and a reader");
	t_sleep_ms(t_long(200));
	seen = t_now_ns();
	is(t_acquire(lh, "b", 1000, 0, &n), 0, "a reader's key is not delayed");
	is(lh_release(lh, &n), 0, "release");
	is(t_acquire(lh, "a", 1000, 0, &n), -EAGAIN, "the other is kept back");
	began = t_now_ns();
	is(lh_destroy(lh, "a"), -EBUSY, "and cannot be destroyed");
	is(t_acquire(lh, "a", 1000, t_long(5000), &n), 0, "and then granted");
	ok(t_since_ms(seen) >= delay - 10 && t_since_ms(began) < delay +
	    T1_MS, "after the lock-delay (%lld ms)",
	    (long long)t_since_ms(seen));
	is(n.notes, LH_NOTE_PREVIOUS_DIED, "with the note");
	is(lh_release(lh, &n), 0, "release");
	is(t_acquire(lh, "a", 1000, 0, &n), 0, "once");
	is(lh_release(lh, &n), 0, "release");
	lh_session_close(s);
}

static void
deleted(void)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh_session *s;
	struct lh_lease l;
	struct lh_key *k;

	o.on_end = LH_ON_END_DELETE;
	is(lh_session_open(lh, NULL, &o, &s), 0, "one that deletes its keys");
	is(acquire_into(lh, s, "gone", LH_EXCLUSIVE, &l), 0, "acquired");
	is(acquire_into(lh, s, "left", LH_EXCLUSIVE, &l), 0, "another");
	is(lh_release(lh, &l), 0, "which it has released by then");
	is(lh_key_open(lh, "gone", 0, &k), 0, "(opened)");
	lh_key_close(k);
	is(lh_session_destroy(s), 0, "destroyed");
	is(t_holders(lh, "gone"), -ENOENT, "the key is not there any more");
	is(t_holders(lh, "left"), 0, "the other is");
	lh_session_close(s);
}

static void
play(void)
{
	lh = t_open(t_table());
	by_ttl();
	by_destroy();
	by_maker(true);
	by_maker(false);
	delayed();
	deleted();
	t_close(lh);
}

int
main(void)
{
	t_part(play, 90, "session ends");
	return done();
}
