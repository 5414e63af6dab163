/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G3, timing T1: a live handle outlives its ttl many times
 * over.  When renewal is stopped, nothing is renewed any more, the early
 * warning comes before the deadline and the loss at the deadline, and the next
 * caller acquires the key.
 *
 * Otherwise a long job would lose its key in the middle of its work.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

#define TTL_MS	t_long(250)
#define TTLS	3

static struct lh_lock_state
state_of(struct lh_lock *l)
{
	struct lh_lock_state s = { .size = sizeof(s) };

	is(lh_lock_state(l, &s), 0, "its state");
	return s;
}

/* False: this machine was too slow for it. */
static bool
outlive(void *arg)
{
	struct lh *lh = arg;
	struct t_actor *w = t_actor(lh_table_name(lh));
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;
	struct lh_acquire_opts a = t_opts(TTL_MS, 0);
	struct lh_event e = LH_EVENT_INIT;
	struct lh_lock_state held, s;
	struct lh_watch *watch;
	struct lh_lock *l;
	int64_t deadline_ns, late_ms;

	o.warn_ms = TTL_MS / 2;
	is(lh_lock_open(lh, "k", &o, &l), 0, "a handle");
	is(lh_lock_valid(l), -ESTALE, "holds nothing");
	is(lh_lock_release(l), -ENOLCK, "has nothing to release");
	is(lh_lock_acquire(l, &a), 0, "acquires");
	is(lh_lock_acquire(l, &a), -EALREADY, "not twice");
	held = state_of(l);
	t_begin_acquire(w, "k", 3600000, 3600000);
	t_sleep_ms(TTLS * TTL_MS);
	s = state_of(l);
	if (s.status != LH_LOCK_HELD) {
		diag("not run for a whole ttl");
		lh_lock_close(l);
		t_actor_kill(w);
		t_actor_free(w);
		return false;
	}
	is(lh_lock_valid(l), 0, "held after %d ttls", TTLS);
	is(lh_verify(lh, &s.lease), 0, "for the table as well");
	ok(!t_answered(w), "nobody else got in");
	ok(s.lease.token == held.lease.token, "by the same token");
	cmp((int64_t)s.renewals, >=, TTLS, "renewed %llu times",
	    (unsigned long long)s.renewals);
	cmp((int64_t)s.renewals, <=, 3 * TTLS + 1, "and not more");
	cmp(s.next_ns, <, s.lease.expires_ns, "again before the deadline");

	is(lh_lock_renew_every(l, 0), 0, "no more renewals");
	is(lh_lock_watch(l, 0, &watch), 0, "watched from now on");
	s = state_of(l);
	ok(s.next_ns == 0, "none is planned");
	deadline_ns = s.lease.expires_ns;
	is(t_result(w), 0, "the next one gets it");
	cmp(w->ended_ns, >=, deadline_ns, "not before the deadline");
	late_ms = (w->ended_ns - deadline_ns) / T_NS_PER_MS;
	is(lh_lock_valid(l), -ESTALE, "no longer valid");
	ok(t_until(T1_MS, state_of(l).status == LH_LOCK_LOST), "lost");
	is(lh_watch_next(watch, &e), 0, "an event");
	ok(e.what == LH_EVENT_WARNING, "the warning");
	cmp(e.at_ns, >=, deadline_ns - TTL_MS / 2 * T_NS_PER_MS, "in time");
	is(lh_watch_next(watch, &e), 0, "an event");
	ok(e.what == LH_EVENT_LOST && e.loss == LH_LOSS_EXPIRED, "the loss");
	cmp(e.at_ns, >=, deadline_ns, "at the deadline");
	is(lh_watch_next(watch, &e), -EAGAIN, "no other");
	is(lh_lock_release(l), -ESTALE, "release says lost");
	t_actor_end(w);
	is(lh_watch_close(watch), 0, "watch closed");
	is(lh_lock_close(l), 0, "handle closed");
	return late_ms <= T1_MS;
}

static void
play(void)
{
	struct lh *lh = t_open(t_table());

	ok(t_tries(3, outlive, lh), "in time");
	t_close(lh);
}

int
main(void)
{
	t_part(play, 80, "live renews over ttls");
	return done();
}
