/* SPDX-License-Identifier: MIT */
/*
 * Live handles: bad arguments, options and states are refused, with a reason,
 * and change nothing; renewals that fail for a while are tolerated.
 */
#include <errno.h>
#include "live/live_set.h"
#include "support/support.h"
#include "tap.h"

static struct lh *lh;

static void
nulls(void)
{
	struct lh_session *session;
	struct lh_lock_state s = { .size = sizeof(s) };
	struct lh_event e = LH_EVENT_INIT;
	struct lh_watch *w = NULL;
	struct lh_lock *l = NULL;

	is(lh_lock_open(NULL, "k", NULL, &l), -EINVAL, "open: no table");
	is(lh_lock_open(lh, NULL, NULL, &l), -EINVAL, "open: no key");
	is(lh_lock_open(lh, "", NULL, &l), -EINVAL, "open: empty key");
	is(lh_lock_open(lh, "k", NULL, NULL), -EINVAL, "open: nowhere");
	ok(l == NULL, "nothing is written");
	is(lh_lock_acquire(NULL, NULL), -EINVAL, "acquire");
	is(lh_lock_release(NULL), -EINVAL, "release");
	is(lh_lock_close(NULL), -EINVAL, "close");
	is(lh_lock_valid(NULL), -EINVAL, "valid");
	is(lh_lock_state(NULL, &s), -EINVAL, "state");
	is(lh_lock_renew_every(NULL, 0), -EINVAL, "renew_every");
	is(lh_lock_extend(NULL, 1, NULL), -EINVAL, "extend");
	is(lh_lock_session(NULL, &session), -EINVAL, "session");
	is(lh_lock_watch(NULL, 0, &w), -EINVAL, "watch");
	is(lh_watch_fd(NULL), -EINVAL, "fd");
	is(lh_watch_next(NULL, &e), -EINVAL, "next");
	is(lh_watch_close(NULL), -EINVAL, "close");
	is(lh_with(lh, "k", NULL, NULL, NULL, NULL), -EINVAL, "with");
	ok(t_has_detail(), "and it is said why");
}

static void
bad_options(void)
{
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;
	struct lh_acquire_opts a = t_opts(60000, 0);
	struct lh_lock_state s = { 0 };
	struct lh_event e = { 0 };
	struct lh_lock *l = NULL;
	struct lh_watch *w;
	char key[300];

	memset(key, 'k', sizeof(key));
	key[256] = '\0';
	is(lh_lock_open(lh, key, NULL, &l), -ENAMETOOLONG, "a long key");
	o.size = 8;
	is(lh_lock_open(lh, "k", &o, &l), -EINVAL, "size");
	o.size = sizeof(o);
	o.renew_ms = -2;
	is(lh_lock_open(lh, "k", &o, &l), -EINVAL, "renew_ms");
	o.renew_ms = 0;
	o.warn_ms = -1;
	is(lh_lock_open(lh, "k", &o, &l), -EINVAL, "warn_ms");
	o.warn_ms = 0;
	o.reserved = 1;
	is(lh_lock_open(lh, "k", &o, &l), -EINVAL, "reserved");
	ok(l == NULL, "nothing is written");
	is(lh_lock_open(lh, "k", NULL, &l), 0, "a handle");
	a.ttl_ms = 0;
	is(lh_lock_acquire(l, &a), -EINVAL, "a ttl of 0");
	is(lh_lock_release(l), -ENOLCK, "never acquired: nothing to release");
	ok(strstr(lh_error_detail(), "has never acquired 'k'") != NULL,
	    "and it is said so");
	is(lh_lock_acquire(l, NULL), 0, "which did not spoil it");
	is(lh_lock_release(l), 0, "released");
	is(lh_lock_release(l), 0, "again, harmlessly");
	is(lh_lock_acquire(l, NULL), 0, "acquired again");
	is(lh_lock_extend(l, 0, NULL), -EINVAL, "extended by 0");
	is(lh_lock_extend(l, LH_TTL_MAX_MS + 1, NULL), -EINVAL, "or too much");
	is(lh_lock_renew_every(l, -2), -EINVAL, "an interval below");
	is(lh_lock_renew_every(l, LH_TTL_MAX_MS + 1), -EINVAL, "or above");
	is(lh_lock_state(l, NULL), -EINVAL, "no state");
	is(lh_lock_state(l, &s), -EINVAL, "a state without size");
	is(lh_lock_watch(l, 0x8000, &w), -EINVAL, "unknown events");
	is(lh_lock_watch(l, 0, NULL), -EINVAL, "nowhere to put it");
	is(lh_lock_watch(l, 0, &w), 0, "a watch");
	is(lh_watch_next(w, NULL), -EINVAL, "no event");
	is(lh_watch_next(w, &e), -EINVAL, "an event without size");
	e.size = sizeof(e);
	is(lh_watch_next(w, &e), -EAGAIN, "nothing to tell");
	ok(t_has_detail(), "and that is said");
	is(lh_watch_close(w), 0, "the watch first");
	is(lh_lock_valid(l), 0, "still held");
	is(lh_lock_close(l), 0, "then the handle");
	is(t_holders(lh, "k"), 1, "which leaves its lease");
}

/* The result of lh_extend(). */
static _Atomic int fault;
static _Atomic int asked;

static int
faulty(struct lh *table, struct lh_lease *lease, int64_t ttl_ms)
{
	atomic_fetch_add(&asked, 1);
	return atomic_load(&fault) != 0 ? atomic_load(&fault) :
	    lh_extend(table, lease, ttl_ms);
}

static uint32_t
next_event(struct lh_watch *w, struct lh_event *e)
{
	is(lh_watch_next(w, e), 0, "an event");
	return e->what;
}

/* Two failures, then it works: a lease that is long enough for any machine. */
static void
failing_for_a_while(struct lh_lock *l, struct lh_watch *w)
{
	struct lh_acquire_opts a = t_opts(t_ms(4000), 0);
	struct lh_event e = LH_EVENT_INIT;

	atomic_store(&fault, -ENOMEM);
	is(lh_lock_acquire(l, &a), 0, "holds");
	is(lh_lock_renew_every(l, 1), 0, "to be renewed soon");
	ok(t_until(T_HANG_MS, atomic_load(&asked) >= 2), "that fails twice");
	is(lh_lock_valid(l), 0, "it is held none the less");
	is(next_event(w, &e), LH_EVENT_ACQUIRED, "acquired");
	is(next_event(w, &e), LH_EVENT_FAILED, "failed");
	is(e.error, -ENOMEM, "with the error");
	is(next_event(w, &e), LH_EVENT_FAILED, "failed");
	atomic_store(&fault, 0);
	ok(t_until(T_HANG_MS, lh_watch_next(w, &e) == 0 &&
	    e.what != LH_EVENT_FAILED), "something else");
	is(e.what, LH_EVENT_RENEWED, "renewed");
	is(e.error, 0, "without error");
	is(lh_lock_release(l), 0, "released");
	while (lh_watch_next(w, &e) == 0)
		;
}

/* Until the deadline, and not after it. */
static void
failing_for_good(struct lh_lock *l, struct lh_watch *w)
{
	struct lh_acquire_opts a = t_opts(t_ms(300), 0);
	struct lh_event e = LH_EVENT_INIT;
	int n;

	atomic_store(&fault, -ENOMEM);
	is(lh_lock_acquire(l, &a), 0, "holds again");
	is(lh_lock_renew_every(l, LH_RENEW_THIRD), 0, "renewed as usual");
	ok(t_until(T_HANG_MS, lh_lock_valid(l) == -ESTALE), "it runs out");
	is(next_event(w, &e), LH_EVENT_ACQUIRED, "acquired");
	for (n = 0; t_until(T_HANG_MS, lh_watch_next(w, &e) == 0) &&
	    e.what == LH_EVENT_FAILED; n++)
		;
	diag("tried %d times", n);
	is(e.what, LH_EVENT_LOST, "then lost");
	is(e.loss, LH_LOSS_EXPIRED, "at its deadline");
	n = atomic_load(&asked);
	atomic_store(&fault, 0);
	t_sleep_ms(t_ms(100));
	is(atomic_load(&asked), n, "no renewal is tried after that");
}

static void
failing(void)
{
	struct lh_watch *w;
	struct lh_lock *l;

	lhi_live_extend = faulty;
	is(lh_lock_open(lh, "f", NULL, &l), 0, "a handle");
	is(lh_lock_watch(l, 0, &w), 0, "watched");
	failing_for_a_while(l, w);
	failing_for_good(l, w);
	is(lh_watch_close(w), 0, "closed");
	is(lh_lock_close(l), 0, "closed");
	lhi_live_extend = lh_extend;
}

int
main(void)
{
	lh = t_open(t_table());
	nulls();
	bad_options();
	failing();
	t_close(lh);
	return done();
}
