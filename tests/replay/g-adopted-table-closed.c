/* SPDX-License-Identifier: MIT */
/*
 * A table is closed while a handle's callback, for which lh_close() waits, is
 * about to adopt a lease: the new handle does not have it.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include "replay.h"
#include "prim/shared.h"

static struct t_event inside, go, done_with;
static struct lh *closing;
static struct lh_lease lease;
static struct lh_lock *made;
static _Atomic int adopted = 1;
static __thread bool called;
static void (*others)(const char *what, const void *addr);

static void
on_point(const char *what, const void *addr)
{
	if (called && strcmp(what, "adopt.opened") == 0) {
		called = false;
		t_post(&inside);
		(void)t_await(&go, 1, REPLAY_MS);
	}
	others(what, addr);
}

static void
on_event(struct lh_lock *lock, const struct lh_event *e, void *arg)
{
	(void)lock;
	(void)arg;
	if (e->what != LH_EVENT_RELEASED)
		return;
	called = true;
	atomic_store(&adopted, lh_lock_adopt(closing, &lease, REPLAY_LONG_MS,
	    NULL, &made));
	t_post(&done_with);
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
	struct lh_lease next;

	others = lhi_hook;
	lhi_hook = on_point;
	closing = lh;
	is(lh_lock_open(lh, "beside", NULL, &beside), 0, "another handle");
	is(lh_lock_watch(beside, LH_EVENT_LOST, &watch), 0, "watched");
	is(lh_lock_acquire(beside, NULL), 0, "held");
	is(replay_try(lh, "a", &lease), 0, "a lease");
	o.event = on_event;
	is(lh_lock_open(lh, "k", &o, &l), 0, "a handle");
	is(lh_lock_acquire(l, NULL), 0, "acquires");
	is(lh_lock_release(l), 0, "releases");
	ok(t_await(&inside, 1, REPLAY_MS), "its callback adopts the lease");
	replay_go("closer", close_it, lh);
	ok(is_told(watch, LH_EVENT_LOST), "lh_close() ends what is held");
	ok(replay_running("closer"), "and waits for the callback");
	t_post(&go);
	is(replay_result("closer"), 0, "closed");
	ok(t_await(&done_with, 1, REPLAY_MS), "the callback has ended");
	is(atomic_load(&adopted), -EINVAL, "its table was closed");
	is(replay_try(other, "a", &next), 0, "nobody has its key");
	is(lh_lock_close(l), 0, "closed");
	is(lh_watch_close(watch), 0, "closed");
	is(lh_lock_close(beside), 0, "closed");
	t_close(other);
	return done();
}
