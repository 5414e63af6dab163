/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1: a live handle's callback runs while another thread closes the
 * handle or its table.  The close waits for the callback, and whatever the
 * callback begins then must end with what is being closed.
 *
 * Otherwise the callback would leave a lease, a ticket or a session behind that
 * nobody renews and nobody can release: the program believes that it holds the
 * key, and others get it.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <leasehold/ticket.h>
#include "replay.h"
#include "prim/shared.h"

#define STARTED 5

/* The objects of one row; the callback runs in a thread of the library. */
static struct {
	struct lh *lh, *other;
	struct lh_lock *lock;		/* whose callback it is */
	struct t_event inside, go, ended;
	struct lh_lease lease;		/* to be adopted */
	struct lh_lock *handle, *adopted;
	struct lh_ticket *ticket;
	struct lh_session *session;
	_Atomic int errors[STARTED];
} at;

static __thread const char *stop_at;	/* the callback stops at that point */
static void (*next_hook)(const char *what, const void *addr);

static void
stop_here(void)
{
	t_post(&at.inside);
	(void)t_await(&at.go, 1, REPLAY_MS);
}

static void
on_point(const char *what, const void *addr)
{
	if (stop_at != NULL && strcmp(what, stop_at) == 0) {
		stop_at = NULL;
		stop_here();
	}
	next_hook(what, addr);
}

static void
start_everything(void)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, REPLAY_LONG_MS);
	struct lh_lease lease;

	at.errors[0] = lh_acquire_start(at.lh, "taken", &o, &at.ticket);
	at.errors[1] = lh_lock_open(at.lh, "k", NULL, &at.handle);
	at.errors[2] = lh_acquire(at.lh, "free", &o, &lease);
	at.errors[3] = lh_lock_adopt(at.lh, &lease, 1000, NULL, &at.adopted);
	at.errors[4] = lh_session_keep(at.session, 1);
}

static void
started_ends(void)
{
	struct lh_lease lease;

	for (int i = 0; i < STARTED; i++)
		is(at.errors[i], 0, "call %d of the callback succeeds", i);
	is(lh_ticket_finish(at.ticket, &lease), -ECANCELED,
	    "its ticket ends with the table");
	is(lh_lock_acquire(at.handle, NULL), -EINVAL, "so does its handle");
	is(lh_lock_valid(at.adopted), -ESTALE, "so does what it adopted");
	t_sleep_ms(1500);	/* the renewing thread looks at all it has */
	is(lh_lock_close(at.handle), 0, "closed");
	is(lh_lock_close(at.adopted), 0, "closed");
}

static void
acquire(void)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);

	at.errors[0] = lh_lock_acquire(at.lock, &o);
}

static void
adopt(void)
{
	at.errors[0] = lh_lock_adopt(at.lh, &at.lease, REPLAY_LONG_MS, NULL,
	    &at.adopted);
}

static void
holds_nothing(void)
{
	struct lh_lease next;

	is(at.errors[0], -EINVAL, "the callback's call is refused");
	is(replay_try(at.other, "k", &next), 0, "nobody holds the key");
	is(lh_release(at.other, &next), 0, "released");
	is(replay_try(at.other, "adopted", &next), 0,
	    "nor the key that was to be adopted");
	is(lh_release(at.other, &next), 0, "released");
}

static void
use_the_handle(void)
{
	struct lh_watch *watch;

	at.errors[1] = lh_lock_watch(at.lock, 0, &watch);
	acquire();
	at.errors[2] = lh_lock_close(at.lock);
}

static void
handle_is_refused(void)
{
	struct lh_lease next;

	is(at.errors[0], -EINVAL, "a handle that is closing acquires nothing");
	is(at.errors[1], -EINVAL, "and cannot be watched");
	is(at.errors[2], -EBUSY, "nor be closed a second time");
	is(replay_try(at.other, "k", &next), 0, "nobody holds the key");
	is(lh_release(at.other, &next), 0, "released");
}

static const struct row {
	const char *what;
	const char *point; /* where the callback stops; NULL: at its start */
	void (*call)(void);	/* what it does */
	void (*check)(void);
	bool handle;		/* the handle is closed, not the table */
} rows[] = {
	{ "table closed, callback starts calls", NULL, start_everything,
	    started_ends, false },
	{ "table closed, callback is granted the key", "acquire.granted",
	    acquire, holds_nothing, false },
	{ "table closed, callback adopts a lease", "adopt.opened", adopt,
	    holds_nothing, false },
	{ "handle closed, callback uses it", NULL, use_the_handle,
	    handle_is_refused, true },
};

static const struct row *row;

static void
on_event(struct lh_lock *lock, const struct lh_event *e, void *arg)
{
	(void)lock;
	(void)arg;
	if (e->what != LH_EVENT_RELEASED)
		return;
	if (row->point == NULL)
		stop_here();
	else
		stop_at = row->point;
	row->call();
	t_post(&at.ended);
}

static int
close_it(void *unused)
{
	(void)unused;
	return row->handle ? lh_lock_close(at.lock) : lh_close(at.lh);
}

/* True if the watch reports the event: the close waits from then on, because
 * both happen in one turn of the lock. */
static bool
is_reported(struct lh_watch *w, uint32_t what)
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

static void
play(const char *table)
{
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;
	struct lh_watch *of_table, *of_lock;
	struct lh_lease taken;
	struct lh_lock *beside;

	memset(&at, 0, sizeof(at));
	at.lh = replay_open(table, 0);
	at.other = replay_open(table, 0);
	at.session = replay_session(at.lh, "s", REPLAY_LONG_MS, 0);
	is(replay_try(at.other, "taken", &taken), 0, "%s: a key is held",
	    row->what);
	is(replay_try(at.lh, "adopted", &at.lease), 0, "a lease to adopt");
	is(lh_lock_open(at.lh, "beside", NULL, &beside), 0, "a handle");
	is(lh_lock_watch(beside, LH_EVENT_LOST, &of_table), 0, "watched");
	is(lh_lock_acquire(beside, NULL), 0, "acquired");
	o.event = on_event;
	is(lh_lock_open(at.lh, "k", &o, &at.lock), 0, "another handle");
	is(lh_lock_watch(at.lock, LH_EVENT_CLOSED, &of_lock), 0, "watched");
	is(lh_lock_acquire(at.lock, NULL), 0, "acquired");
	is(lh_lock_release(at.lock), 0, "released");
	ok(t_await(&at.inside, 1, REPLAY_MS), "its callback is stopped");
	replay_go("closer", close_it, NULL);
	if (row->handle)
		ok(is_reported(of_lock, LH_EVENT_CLOSED), "it is closing");
	else
		ok(is_reported(of_table, LH_EVENT_LOST),
		    "lh_close() ends what is held");
	ok(replay_running("closer"), "the close waits for the callback");
	t_post(&at.go);
	is(replay_result("closer"), 0, "closed");
	ok(t_await(&at.ended, 1, REPLAY_MS), "the callback has ended");
	if (row->handle)
		is(lh_release(at.lh, &at.lease), 0, "released");
	row->check();
	is(lh_release(at.other, &taken), 0, "released");
	if (!row->handle)
		is(lh_lock_close(at.lock), 0, "closed");
	is(lh_watch_close(of_lock), 0, "closed");
	is(lh_watch_close(of_table), 0, "closed");
	is(lh_lock_close(beside), 0, "closed");
	t_close(at.other);
	if (row->handle) {
		lh_session_close(at.session);
		t_close(at.lh);
	}
}

static void
on_lost(struct lh_lock *lock, const struct lh_event *e, void *arg)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_lease lease;

	(void)lock;
	(void)arg;
	if (e->what != LH_EVENT_LOST)
		return;
	at.errors[0] = lh_acquire(at.lh, "another", &o, &lease);
	t_post(&at.ended);
}

static int
close_table(void *unused)
{
	(void)unused;
	return lh_close(at.lh);
}

/* A callback that begins while lh_close() is in its middle: it has to find the
 * table closed, for its memory is about to go. */
static void
play_lost(const char *table)
{
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;

	memset(&at, 0, sizeof(at));
	at.lh = replay_open(table, 0);
	o.event = on_lost;
	is(lh_lock_open(at.lh, "k", &o, &at.lock), 0, "a handle");
	is(lh_lock_acquire(at.lock, NULL), 0, "acquired");
	replay_stop("closer", "close.closing", close_table, NULL);
	ok(t_await(&at.ended, 1, REPLAY_MS), "the callback runs meanwhile");
	is(at.errors[0], -EINVAL, "its callback cannot acquire");
	is(replay_finish("closer"), 0, "closed");
	is(lh_lock_close(at.lock), 0, "closed");
}

int
main(void)
{
	const char *table = replay_begin();

	next_hook = lhi_hook;
	lhi_hook = on_point;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		row = &rows[i];
		play(i == 0 ? table : t_table());
	}
	play_lost(t_table());
	return done();
}
