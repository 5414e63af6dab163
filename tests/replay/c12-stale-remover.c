/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G7, amendment C12: a remover of a queue's dead waiter swaps the
 * link that it read before its proof.
 *
 * A visitor of a's queue meets a claim that has just been granted "a", which
 * proves that it no longer waits there; the visitor is stopped.  The claim's
 * thread leaves that queue, releases "a", and waits for "b" with the same
 * claim.  The visitor goes on: it must leave b's queue alone.
 *
 * Otherwise it would remove a live waiter from b's queue, and in a table of
 * order fifo a newcomer would acquire "b" first.
 */
#include "replay.h"

struct waiter {
	struct replay_call a, b;
	struct t_event has_a;
	int got_a;
};

static int
a_then_b(void *arg)
{
	struct waiter *w = arg;

	w->got_a = replay_acquire(&w->a);
	if (w->got_a != 0)
		return w->got_a;
	(void)replay_release_lease(&w->a);
	return replay_acquire(&w->b);
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh_open_opts o = replay_opts(0);
	struct lh *lh = NULL, *wlh, *vlh;
	struct lh_lease a, b, l;
	struct replay_call visitor;
	struct waiter w;
	int r;

	o.order = LH_ORDER_FIFO;
	is(lh_open(&lh, table, &o), 0, "a table of order fifo");
	wlh = replay_open(table, 0);
	vlh = replay_open(table, 0);
	a = t_hold(lh, "a");
	b = t_hold(lh, "b");
	w = (struct waiter){ REPLAY_CALL(wlh, "a", 60000, REPLAY_LONG_MS),
	    REPLAY_CALL(wlh, "b", 60000, REPLAY_LONG_MS), { 0 }, -1 };
	visitor = (struct replay_call)REPLAY_CALL(vlh, "a", 60000,
	    REPLAY_LONG_MS);

	replay_go("waiter", a_then_b, &w);
	ok(t_await_waiters(lh, "a", 1), "the waiter is queued for a");
	replay_hold("waiter", "acquire.granted");
	is(lh_release(lh, &a), 0, "a is released");
	replay_wait_held("waiter");	/* granted, but still in the queue */
	replay_stop("visitor", "queue.proved", replay_acquire, &visitor);
	replay_stop_next("waiter", "wait.parked");
	is(t_waiters(lh, "b"), 1, "it is queued for b");
	ok(w.b.lease.token == 0 && w.got_a == 0,
	    "after it has acquired and released a");

	is(replay_finish("visitor"), 0, "the visitor acquires a");
	is(t_waiters(lh, "b"), 1, "the waiter for b is still queued");
	is(lh_release(lh, &b), 0, "b is released");
	r = replay_try(lh, "b", &l);
	is(r, -EAGAIN, "a newcomer does not overtake the waiter");
	if (r == 0)
		(void)lh_release(lh, &l);
	is(replay_finish("waiter"), 0, "the waiter acquires b");
	is(lh_release(wlh, &w.b.lease), 0, "release");
	is(lh_release(vlh, &visitor.lease), 0, "release");
	t_close(vlh);
	t_close(wlh);
	t_close(lh);
	return done();
}
