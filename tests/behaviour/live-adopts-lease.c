/* SPDX-License-Identifier: MIT */
/* test: slow 7 */
/*
 * Guarantees G3 and G9, lh_lock_adopt(): a live handle adopts a lease that was
 * acquired by a ticket, as a permit, in a named session or by a plain acquire.
 * The lease is renewed, watched, lost and released as if the handle had
 * acquired it.
 *
 * Otherwise a program would have to renew such leases itself, or would not
 * learn that one is lost.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include "session.h"
#include "support/child.h"

#define T7_MS	t_ms(10000)
#define HOUR_MS 3600000

static struct lh *lh;

static struct lh_lock *
adopt(const struct lh_lease *l, int64_t ttl_ms, const char *what)
{
	struct lh_lock *lock = NULL;

	is(lh_lock_adopt(lh, l, ttl_ms, NULL, &lock), 0, "%s: adopted", what);
	is(lh_lock_valid(lock), 0, "%s: valid", what);
	return lock;
}

static struct lh_lease
state_of(struct lh_lock *lock, enum lh_lock_status status, enum lh_loss loss)
{
	struct lh_lock_state s = { .size = sizeof(s) };

	is(lh_lock_state(lock, &s), 0, "its state");
	ok(s.status == status && s.loss == loss, "%u, for %u", s.status,
	    s.loss);
	return s.lease;
}

/* Held for more than two ttls of the lease. */
static bool
renewed(void *arg)
{
	struct lh_acquire_opts o = t_opts(t_ms(300), HOUR_MS);
	struct lh_lock *lock;
	struct lh_ticket *t;
	struct lh_lease l;
	bool held;

	(void)arg;
	if (lh_acquire_start(lh, "k", &o, &t) != 0 ||
	    lh_ticket_finish(t, &l) != 0)
		return false;
	lock = adopt(&l, t_ms(300), "a ticket's");
	t_sleep_ms(t_ms(700));
	held = lh_lock_valid(lock) == 0 && lh_verify(lh, &l) == 0;
	(void)lh_lock_release(lock);
	(void)lh_lock_close(lock);
	return held;
}

static void
tickets(void)
{
	struct lh_lease l, now;
	struct lh_lock *lock;

	ok(t_tries(5, renewed, NULL), "a ticket's lease is renewed");
	is(t_holders(lh, "k"), 0, "and released");
	/* by another ttl than it was acquired with: at once, if need be */
	is(t_acquire(lh, "k", HOUR_MS, 0, &l), 0, "a lease for an hour");
	lock = adopt(&l, t_ms(5000), "a long one");
	is(lh_lock_renew_every(lock, 1), 0, "renewed very often");
	ok(t_until(T_HANG_MS, lh_lock_lease(lock, 0, &now) == 0 &&
	    now.expires_ns < l.expires_ns), "by the ttl that was given");
	is(lh_lock_renew_every(lock, LH_RENEW_THIRD), 0, "as usual");
	is(lh_lock_acquire(lock, NULL), -EALREADY, "it is held");
	is(lh_lock_release(lock), 0, "released");
	is(lh_lock_acquire(lock, NULL), 0, "acquired again, by its name");
	is(t_holders(lh, "k"), 1, "the same key");
	is(lh_lock_release(lock), 0, "released");
	is(lh_lock_close(lock), 0, "closed");
}

static void
permits(void)
{
	struct lh_watch *watch;
	struct lh_event e = LH_EVENT_INIT;
	struct pollfd p = { .events = POLLIN };
	struct lh_lock *lock;
	struct lh_sem *sem;
	struct lh_lease l;

	is(lh_sem_open(lh, "s", 1, &sem), 0, "a semaphore");
	is(lh_sem_acquire(sem, NULL, &l), 0, "a permit");
	lock = adopt(&l, 30000, "a permit");
	is(lh_lock_watch(lock, 0, &watch), 0, "watched");
	p.fd = lh_watch_fd(watch);
	is(lh_ask_release(lh, "s\1permit 1", NULL, 0), 1, "asked for");
	is(poll(&p, 1, (int)T7_MS), 1, "which the watch reports");
	is(lh_watch_next(watch, &e), 0, "by an event");
	is(e.what, LH_EVENT_ASKED, "of that kind");
	is(lh_break(lh, "s\1permit 1", NULL, 0), 1, "broken");
	is(poll(&p, 1, (int)T7_MS), 1, "which the watch reports, too");
	is(lh_watch_next(watch, &e), 0, "by an event");
	ok(e.what == LH_EVENT_LOST && e.loss == LH_LOSS_BROKEN, "of loss");
	is(lh_lock_valid(lock), -ESTALE, "not valid");
	is(lh_lock_release(lock), -ESTALE, "lost");
	is(lh_watch_close(watch), 0, "closed");
	is(lh_lock_close(lock), 0, "closed");
	is(lh_sem_acquire(sem, NULL, &l), 0, "a permit again");
	lock = adopt(&l, 30000, "it");
	is(lh_lock_close(lock), 0, "closed without a release");
	is(lh_verify(lh, &l), 0, "it is held still");
	is(lh_sem_release(sem, &l), 0, "released by hand");
	is(lh_sem_close(sem), 0, "closed");
}

/* A copy of the lease is ended by the calls for leases: the handle reports
 * it. */
static void
by_a_copy(uint32_t mode, bool convert)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, 0);
	struct lh_lock *lock;
	struct lh_lease l;

	o.mode = mode;
	is(lh_acquire(lh, "k", &o, &l), 0, "a lease");
	lock = adopt(&l, t_ms(2000), "it");
	if (convert)
		is(lh_convert(lh, &l, LH_SHARED), 0, "a copy is converted");
	else
		is(lh_release(lh, &l), 0, "a copy is released");
	ok(t_until(T_HANG_MS, lh_lock_valid(lock) == -ESTALE), "it is lost");
	(void)state_of(lock, LH_LOCK_LOST, LH_LOSS_RELEASED);
	is(lh_lock_close(lock), 0, "closed");
	if (convert)
		is(lh_release(lh, &l), 0, "and released");
}

static void
in_session(void)
{
	struct lh_session *s = open_session(lh, "job", HOUR_MS, 0, 0);
	struct lh_watch *watch;
	struct lh_event e = LH_EVENT_INIT;
	struct pollfd p = { .events = POLLIN };
	struct lh_lock *lock;
	struct lh_lease l;

	is(acquire_into(lh, s, "k", LH_SHARED, &l), 0, "a reader's, in one");
	lock = adopt(&l, 30000, "in a session");
	is(lh_lock_watch(lock, LH_EVENT_LOST, &watch), 0, "watched");
	p.fd = lh_watch_fd(watch);
	is(lh_session_destroy(s), 0, "the session ends");
	is(poll(&p, 1, (int)T7_MS), 1, "which the watch reports");
	is(lh_watch_next(watch, &e), 0, "by an event");
	is(e.loss, LH_LOSS_SESSION, "as what it is");
	(void)state_of(lock, LH_LOCK_LOST, LH_LOSS_SESSION);
	is(lh_watch_close(watch), 0, "closed");
	is(lh_lock_close(lock), 0, "closed");
	lh_session_close(s);
}

static int
child(void *arg)
{
	const struct lh_lease *l = arg;
	struct lh_lock *lock;

	is(lh_lock_adopt(lh, l, 1000, NULL, &lock), -EPERM, "not a child's");
	return tap_child_status();
}

static void
refused(void)
{
	struct lh *other = t_open(lh_table_name(lh));
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;
	struct lh_lease l = t_hold(lh, "k"), none = { 0 };
	struct lh_lock *lock;

	is(lh_lock_adopt(lh, &l, 0, NULL, &lock), -EINVAL, "a ttl of 0");
	is(lh_lock_adopt(lh, &l, LH_TTL_MAX_MS + 1, NULL, &lock), -EINVAL,
	    "a ttl of more than 30 days");
	is(lh_lock_adopt(lh, &l, 1000, NULL, NULL), -EINVAL, "nowhere to");
	is(lh_lock_adopt(lh, NULL, 1000, NULL, &lock), -EINVAL, "no lease");
	is(lh_lock_adopt(lh, &none, 1000, NULL, &lock), -EINVAL, "none at all");
	is(lh_lock_adopt(NULL, &l, 1000, NULL, &lock), -EINVAL, "no table");
	is(lh_lock_adopt(other, &l, 1000, NULL, &lock), -EPERM,
	    "another attachment's");
	o.size = 1;
	is(lh_lock_adopt(lh, &l, 1000, &o, &lock), -EINVAL, "wrong options");
	is(t_reap(t_fork(child, &l), T_HANG_MS), 0, "over fork");
	is(lh_release(lh, &l), 0, "released");
	is(lh_lock_adopt(lh, &l, 1000, NULL, &lock), -ESTALE, "released");
	ok(t_has_detail(), "and that is said");
	l = t_hold(lh, "k");
	is(lh_break(lh, "k", NULL, 0), 1, "broken");
	is(lh_lock_adopt(lh, &l, 1000, NULL, &lock), -ESTALE, "lost");
	t_close(other);
}

int
main(void)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(1, 0);
	struct lh_lock *lock;
	struct lh_lease l;

	lh = t_open(t_table());
	refused();
	tickets();
	permits();
	by_a_copy(LH_EXCLUSIVE, false);
	by_a_copy(LH_SHARED, false);
	by_a_copy(LH_EXCLUSIVE, true);
	in_session();
	more.policy = LH_POLICY_STRICT;
	o.more = &more;
	is(lh_acquire(lh, "k", &o, &l), 0, "a strict one");
	lock = adopt(&l, 1, "strict");
	t_sleep_ms(t_ms(30));
	is(lh_lock_valid(lock), 0, "has no deadline");
	is(lh_lock_release(lock), 0, "released");
	is(lh_lock_close(lock), 0, "closed");
	l = t_hold(lh, "k");
	lock = adopt(&l, 30000, "the last");
	t_close(lh);
	(void)state_of(lock, LH_LOCK_LOST, LH_LOSS_SESSION);
	is(lh_lock_close(lock), 0, "closed");
	return done();
}
