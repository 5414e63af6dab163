/* SPDX-License-Identifier: MIT */
/*
 * Who asks for a key whose live handle nobody watches is heard by the holder
 * when it looks, or by who begins to watch: the thread that renews does not
 * take it for told.
 */
#include "replay.h"

static void
asked(struct lh *other)
{
	is(lh_ask_release(other, "k", NULL, 0), 1, "asked for");
	t_sleep_ms(50);			/* the thread has looked */
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
	asked(other);
	is(lh_lease_asked(lh, &l), 1, "the holder sees that");
	asked(other);
	is(lh_lock_watch(k, LH_EVENT_ASKED, &w), 0, "a watch");
	is(lh_watch_next(w, &e), 0, "hears");
	is(e.what, LH_EVENT_ASKED, "of it");
	is(lh_lease_asked(lh, &l), 0, "once");
	is(lh_watch_close(w), 0, "closed");
	is(lh_lock_release(k), 0, "released");
	is(lh_lock_close(k), 0, "closed");
	t_close(other);
	t_close(lh);
	return done();
}
