/* SPDX-License-Identifier: MIT */
/*
 * A table is closed while a handle's callback, for which lh_close() waits, has
 * the table at hand: what it begins there (a ticket, a handle, a lease that is
 * adopted, a session that is kept) is ended with the table, as what was there
 * before.
 */
#include <errno.h>
#include <stdatomic.h>
#include <leasehold/ticket.h>
#include "replay.h"

static struct t_event inside, go;
static struct lh *closing;
static struct lh_ticket *ticket;
static struct lh_lock *handle, *adopted;
static struct lh_session *session;
static _Atomic int errors[5] = { 1, 1, 1, 1, 1 };

static void
on_event(struct lh_lock *lock, const struct lh_event *e, void *arg)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, REPLAY_LONG_MS);
	struct lh_lease lease;

	(void)arg;
	(void)lock;
	if (e->what != LH_EVENT_RELEASED)
		return;
	t_post(&inside);
	(void)t_await(&go, 1, REPLAY_MS);
	errors[0] = lh_acquire_start(closing, "taken", &o, &ticket);
	errors[1] = lh_lock_open(closing, "k", NULL, &handle);
	errors[2] = lh_acquire(closing, "free", &o, &lease);
	errors[3] = lh_lock_adopt(closing, &lease, 1000, NULL, &adopted);
	errors[4] = lh_session_keep(session, 1);
}

static int
close_it(void *lh)
{
	return lh_close(lh);
}

/* lh_close() waits once this is told: both in one turn of the lock. */
static bool
is_told(struct lh_watch *w, uint32_t what)
{
	struct lh_event e = LH_EVENT_INIT;

	for (int i = 0; i < REPLAY_MS; i++) {
		while (lh_watch_next(w, &e) == 0)
			if (e.what & what)
				return true;
		t_sleep_ms(1);
	}
	return false;
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0), *other = replay_open(table, 0);
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;
	struct lh_lock *l, *beside;
	struct lh_watch *watch;
	struct lh_lease lease, q;

	closing = lh;
	session = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	is(replay_try(other, "taken", &q), 0, "a key is taken");
	is(lh_lock_open(lh, "beside", NULL, &beside), 0, "another handle");
	is(lh_lock_watch(beside, LH_EVENT_LOST, &watch), 0, "watched");
	is(lh_lock_acquire(beside, NULL), 0, "held");
	o.event = on_event;
	is(lh_lock_open(lh, "k", &o, &l), 0, "a handle");
	is(lh_lock_acquire(l, NULL), 0, "acquires");
	is(lh_lock_release(l), 0, "releases");
	ok(t_await(&inside, 1, REPLAY_MS), "its callback runs");
	replay_go("closer", close_it, lh);
	ok(is_told(watch, LH_EVENT_LOST), "lh_close() ends what is held");
	ok(replay_running("closer"), "and waits for the callback");
	t_post(&go);
	is(replay_result("closer"), 0, "closed");
	for (int i = 0; i < 5; i++)
		is(errors[i], 0, "what the callback began, %d", i);
	is(lh_ticket_finish(ticket, &lease), -ECANCELED,
	    "the ticket is of no table any more");
	is(lh_lock_acquire(handle, NULL), -EINVAL, "nor is the handle");
	is(lh_lock_valid(adopted), -ESTALE, "nor what was adopted");
	is(lh_release(other, &q), 0, "released");
	t_sleep_ms(1500);		/* the thread looks at all it has */
	is(lh_lock_close(l), 0, "closed");
	is(lh_lock_close(handle), 0, "closed");
	is(lh_lock_close(adopted), 0, "closed");
	is(lh_watch_close(watch), 0, "closed");
	is(lh_lock_close(beside), 0, "closed");
	t_close(other);
	return done();
}
