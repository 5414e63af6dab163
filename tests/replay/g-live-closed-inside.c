/* SPDX-License-Identifier: MIT */
/*
 * A handle is closed by another thread while its callback runs, which may do
 * anything with it: nothing that it does then outlives the handle.
 */
#include <errno.h>
#include <stdatomic.h>
#include "replay.h"

static struct t_event inside, go;
static _Atomic int acquired = 1, watched = 1, closed = 1;

static void
on_event(struct lh_lock *lock, const struct lh_event *e, void *arg)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_watch *watch;

	(void)arg;
	if (e->what != LH_EVENT_RELEASED)
		return;
	t_post(&inside);
	(void)t_await(&go, 1, REPLAY_MS);
	atomic_store(&watched, lh_lock_watch(lock, 0, &watch));
	atomic_store(&acquired, lh_lock_acquire(lock, &o));
	atomic_store(&closed, lh_lock_close(lock));
}

static int
close_it(void *l)
{
	return lh_lock_close(l);
}

/* The closer waits once this is told: both in one turn of the lock. */
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
	struct lh_watch *watch;
	struct lh_lock *l;
	struct lh_lease lease;

	o.event = on_event;
	is(lh_lock_open(lh, "k", &o, &l), 0, "a handle");
	is(lh_lock_watch(l, LH_EVENT_CLOSED, &watch), 0, "watched");
	is(lh_lock_acquire(l, NULL), 0, "acquires");
	is(lh_lock_release(l), 0, "releases");
	ok(t_await(&inside, 1, REPLAY_MS), "its callback runs");
	replay_go("closer", close_it, l);
	ok(is_told(watch, LH_EVENT_CLOSED), "it is being closed");
	ok(replay_running("closer"), "the closer waits for the callback");
	t_post(&go);
	is(replay_result("closer"), 0, "closed");
	is(atomic_load(&acquired), -EINVAL, "what is being closed acquires "
	    "nothing");
	is(atomic_load(&watched), -EINVAL, "and is not watched any more");
	is(atomic_load(&closed), -EBUSY, "nor closed twice");
	is(replay_try(other, "k", &lease), 0, "nobody has its key");
	is(lh_watch_close(watch), 0, "the watch is closed");
	t_close(other);
	t_close(lh);
	return done();
}
