/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G7, invariant I4 of shm/wait_queue.c: a walk over a queue reaches a
 * waiter that is leaving it: marked, but still linked.  The next waiter leaves
 * as well, which unlinks both, and waits for another key.  The walk must not
 * follow the old link into the other queue: it reaches the last waiter, or
 * reports that the queue is changing.
 *
 * Otherwise the walk would miss the waiters behind, which would be neither
 * woken nor counted.
 */
#include <errno.h>
#include "proc/attachment.h"
#include "replay.h"
#include "shm/wait_queue.h"

#define MOST 100	/* loads; a walk has fewer */

enum { FRONT, LEAVES, MOVES, BEHIND, N };

struct waiter {
	const char *role;
	struct lh *lh;
	struct lh_cancel off;
};

static struct waiter who[N] = {
	{ .role = "front" }, { .role = "leaves" }, { .role = "moves" },
	{ .role = "behind" },
};
static struct lh *lh;

struct met {
	struct shm_slot *s;
	uint32_t n, ci[N + 1];
};

static struct met walked;

/* Reads nothing in shared memory, because the walker must not be stopped
 * here. */
static bool
meet(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct met *m = arg;

	(void)v;
	m->ci[m->n++] = ci;
	return m->n <= N;
}

static int
walk(void *arg)
{
	struct met *m = arg;

	m->n = 0;
	return lhi_queue_walk(&lh->v, m->s, meet, m);
}

static int
get(struct waiter *w, const char *key)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, REPLAY_MS);
	struct lh_lease l;
	int error;

	o.cancel = &w->off;
	error = lh_acquire(w->lh, key, &o, &l);
	return error != 0 ? error : lh_release(w->lh, &l);
}

static int
wait_for_k(void *arg)
{
	return get(arg, "k");
}

static int
wait_for_k_then_m(void *arg)
{
	struct waiter *w = arg;
	int error = get(w, "k");

	w->off = (struct lh_cancel)LH_CANCEL_INIT;
	return error == -ECANCELED ? get(w, "m") : error;
}

static void
queue_up(void)
{
	for (int i = 0; i < N; i++) {
		who[i].off = (struct lh_cancel)LH_CANCEL_INIT;
		if (i == LEAVES)
			replay_hold(who[i].role, "queue.marked");
		replay_go(who[i].role, i == MOVES ? wait_for_k_then_m :
		    wait_for_k, &who[i]);
		if (!t_await_waiters(lh, "k", i + 1))
			bail_out("%s does not wait", who[i].role);
	}
}

/* Stops the walker at its nth load.  False if it has fewer. */
static bool
round_of(int n)
{
	struct lh_lease lk = t_hold(lh, "k"), lm = t_hold(lh, "m");
	struct met before = { &lh->v.slots[(uint32_t)lk.key], 0, { 0 } };
	struct met after = { &lh->v.slots[(uint32_t)lm.key], 0, { 0 } };
	bool held;
	int error;

	queue_up();
	if (walk(&before) != 0 || before.n != N)
		bail_out("not all of them wait");
	walked = (struct met){ before.s, 0, { 0 } };
	(void)lh_cancel(&who[LEAVES].off);
	replay_wait_held("leaves");
	replay_hold_nth("walker", "load", n);
	replay_go("walker", walk, &walked);
	held = replay_comes("walker");
	(void)lh_cancel(&who[MOVES].off);
	if (!t_await_waiters(lh, "m", 1))
		bail_out("it does not wait for the other key");
	if (walk(&after) != 0 || after.n != 1 ||
	    after.ci[0] != before.ci[MOVES])
		bail_out("it does not wait with the same claim");
	if (held)
		replay_release("walker");
	error = replay_result("walker");
	ok(error == -EAGAIN || (error == 0 && walked.n > 0 &&
	    walked.ci[walked.n - 1] == before.ci[BEHIND]),
	    "load %d: it reaches the last waiter or reports a change", n);
	is(replay_finish("leaves"), -ECANCELED, "the first one has left");
	error = lh_release(lh, &lk) | lh_release(lh, &lm);
	error |= replay_result("front") | replay_result("moves");
	is(error | replay_result("behind"), 0,
	    "the others acquire in their turn");
	return held;
}

int
main(void)
{
	const char *table = replay_begin();
	int n = 0;

	lh = replay_open(table, 0);
	for (int i = 0; i < N; i++)
		who[i].lh = replay_open(table, 0);
	while (round_of(++n) && n < MOST)
		;
	cmp(n, <, MOST, "a whole walk was played");
	for (int i = N - 1; i >= 0; i--)
		t_close(who[i].lh);
	t_close(lh);
	return done();
}
