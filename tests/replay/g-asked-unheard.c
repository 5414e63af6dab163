/* SPDX-License-Identifier: MIT */
/*
 * src/live/live_events.c: a request to release the key of a live handle stays
 * pending until somebody reads it.  A handle has no watch; the renewing thread
 * looks at its lease and must leave the request for the holder, or for a watch
 * that is opened later.
 *
 * Otherwise the renewing thread would consume the request, and the holder would
 * never learn that it was asked to release the key.
 */
#include "replay.h"

static void
ask(struct lh *other)
{
	is(lh_ask_release(other, "k", NULL, 0), 1,
	    "the holder is asked to release");
	t_sleep_ms(50);			/* the renewing thread has looked */
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0), *other = replay_open(table, 0);
	struct lh_event e = LH_EVENT_INIT;
	struct lh_watch *w;
	struct lh_lease l;
	struct lh_lock *k;

	is(lh_lock_open(lh, "k", NULL, &k), 0, "a handle");
	is(lh_lock_acquire(k, NULL), 0, "acquires");
	is(lh_lock_lease(k, 0, &l), 0, "its lease");
	ask(other);
	is(lh_lease_asked(lh, &l), 1, "the holder reads the request");
	ask(other);
	is(lh_lock_watch(k, LH_EVENT_ASKED, &w), 0, "a watch is opened");
	is(lh_watch_next(w, &e), 0, "it reports an event");
	is(e.what, LH_EVENT_ASKED, "the second request");
	is(lh_lease_asked(lh, &l), 0, "which is reported once");
	is(lh_watch_close(w), 0, "closed");
	is(lh_lock_release(k), 0, "released");
	is(lh_lock_close(k), 0, "closed");
	t_close(other);
	t_close(lh);
	return done();
}
