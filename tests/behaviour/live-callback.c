/* SPDX-License-Identifier: MIT */
/* test: tsan */
/*
 * lh_lock_opts.event: a callback is called for every event, in order, may
 * release and close its own handle, and does not run any more when
 * lh_lock_close() has returned.
 *
 * Otherwise a callback would use memory that its program has freed, or miss a
 * loss.
 */
#include <errno.h>
#include <stdatomic.h>
#include "support/child.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

struct seen {
	struct t_event any;
	struct t_event go;
	_Atomic uint64_t seq;
	_Atomic uint32_t what;
	_Atomic int gaps, result, running;
	enum { LOOK, RELEASE, CLOSE, LINGER } act;
};

static void
on_event(struct lh_lock *lock, const struct lh_event *e, void *arg)
{
	struct seen *s = arg;

	atomic_fetch_add(&s->running, 1);
	atomic_fetch_add(&s->gaps, e->seq - e->count != atomic_load(&s->seq));
	atomic_store(&s->seq, e->seq);
	atomic_fetch_or(&s->what, e->what);
	if (s->act == RELEASE && e->what == LH_EVENT_RENEWED)
		atomic_store(&s->result, lh_lock_release(lock));
	else if (s->act == CLOSE && e->what == LH_EVENT_LOST)
		atomic_store(&s->result, lh_lock_close(lock));
	t_post(&s->any);
	if (s->act == LINGER)
		(void)t_await(&s->go, 1, T_HANG_MS);
	atomic_fetch_sub(&s->running, 1);
}

static struct lh_lock *
hold(struct lh *lh, struct seen *s, int64_t renew_ms)
{
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;
	struct lh_acquire_opts a = t_opts(t_long(600), 0);
	struct lh_lock *l;

	o.event = on_event;
	o.arg = s;
	o.renew_ms = renew_ms;
	is(lh_lock_open(lh, "k", &o, &l), 0, "a handle");
	is(lh_lock_acquire(l, &a), 0, "holds");
	return l;
}

static void *
let_go(void *arg)
{
	struct seen *s = arg;

	t_sleep_ms(50);
	t_post(&s->go);
	return NULL;
}

static void
play(void)
{
	struct lh *lh = t_open(t_table());
	struct seen s[5] = { { .act = RELEASE, .result = 1 },
	    { .act = CLOSE, .result = 1 }, { .act = LINGER },
	    { .act = LINGER }, { .act = LOOK } };
	struct lh_lock_state state = { .size = sizeof(state) };
	unsigned long thread;
	struct lh_lock *l;

	l = hold(lh, &s[0], 1);
	ok(t_until(T_HANG_MS, atomic_load(&s[0].result) <= 0), "it releases");
	is(atomic_load(&s[0].result), 0, "with success");
	ok(t_until(T_HANG_MS, atomic_load(&s[0].what) & LH_EVENT_RELEASED),
	    "and the callback gets the event");
	is(t_holders(lh, "k"), 0, "the key is free");
	is(lh_lock_state(l, &state), 0, "its state");
	is(state.status, LH_LOCK_FREE, "is free");
	is(lh_lock_close(l), 0, "closed");
	is(atomic_load(&s[0].gaps), 0, "no gaps");

	(void)hold(lh, &s[1], 0);
	ok(t_until(T_HANG_MS, atomic_load(&s[1].result) <= 0),
	    "it closes its handle");
	is(atomic_load(&s[1].result), 0, "with success");

	/* closing waits for the callback of another thread */
	l = hold(lh, &s[2], 0);
	ok(t_await(&s[2].any, 1, T_HANG_MS), "a callback runs");
	thread = t_thread(let_go, &s[2]);
	is(lh_lock_close(l), 0, "the handle is closed");
	is(atomic_load(&s[2].running), 0, "after it has ended");
	t_join(thread);
	is(t_holders(lh, "k"), 1, "the lease is left to its deadline");
	ok(t_until(T_HANG_MS, t_holders(lh, "k") == 0), "and ends by it");

	/* and so does closing the table */
	l = hold(lh, &s[3], LH_RENEW_THIRD);
	ok(t_await(&s[3].any, 1, T_HANG_MS), "a callback runs");
	thread = t_thread(let_go, &s[3]);
	is(lh_close(lh), 0, "the table is closed");
	is(atomic_load(&s[3].running), 0, "after it has ended");
	t_join(thread);
	s[3].act = LOOK;
	ok(t_until(T_HANG_MS, atomic_load(&s[3].what) & LH_EVENT_LOST),
	    "the loss is reported afterwards");
	is(lh_lock_close(l), 0, "the handle is closed");
}

int
main(void)
{
	t_part(play, 500, "live callback");
	return done();
}
