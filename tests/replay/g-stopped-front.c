/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G5 and G6, timing T3: the first waiter has announced that it holds
 * (claim #3, WAIT to HELD), and is stopped before it swaps the lock word.  The
 * key is free, and the waiter behind it must acquire it within T3. The first
 * waiter goes on, fails, and is first in the queue again.  If it is killed
 * there instead, it must delay nobody, and its claim must be reclaimed.
 *
 * Otherwise one stopped process would keep a free key from all that wait behind
 * it.
 */
#include "replay.h"

struct shared {
	const char *table;
	struct replay_call first;
};

static struct lh *lh, *behind;

static int
wait_in_child(void *arg)
{
	struct shared *sh = arg;

	sh->first.lh = replay_open(sh->table, 0);
	return replay_acquire(&sh->first);
}

/* "first" is queued, another waiter behind it; the holder releases. */
static void
hand_over(struct lh_lease *held, struct replay_call *second)
{
	ok(t_await_waiters(lh, "k", 1), "the first waiter is queued");
	replay_hold("first", "acquire.announced");
	replay_go("second", replay_acquire, second);
	ok(t_await_waiters(lh, "k", 2), "the second is queued behind it");
	is(lh_release(lh, held), 0, "the holder releases");
	replay_wait_held("first");
}

static void
play_all(void)
{
	const char *table = replay_begin();
	struct shared *sh = t_shared(sizeof(*sh));
	struct replay_call second, first;
	struct lh *own;
	struct lh_lease k;
	int64_t began_ns;

	lh = replay_open(table, 0);
	*sh = (struct shared){ table, REPLAY_CALL(NULL, "k", REPLAY_LONG_MS,
	    REPLAY_LONG_MS) };
	k = t_hold(lh, "k");
	replay_fork("first", wait_in_child, sh);
	behind = replay_open(table, 0);
	second = (struct replay_call)REPLAY_CALL(behind, "k", REPLAY_LONG_MS,
	    REPLAY_LONG_MS);
	began_ns = t_now_ns();
	hand_over(&k, &second);
	replay_kill("first");
	began_ns = t_now_ns();
	is(replay_result("second"), 0,
	    "first killed: the second acquires the key");
	cmp((second.ended_ns - began_ns) / T_NS_PER_MS, <, T3_DEAD_MS,
	    "within T3");
	is(t_waiters(lh, "k"), 0, "nobody waits any more");
	is(lh_release(behind, &second.lease), 0, "release");

	own = replay_open(table, 0);
	first = (struct replay_call)REPLAY_CALL(own, "k", 60000,
	    REPLAY_LONG_MS);
	k = t_hold(lh, "k");
	replay_go("first", replay_acquire, &first);
	hand_over(&k, &second);
	began_ns = t_now_ns();
	is(replay_result("second"), 0,
	    "first stopped: the second acquires the key");
	cmp((second.ended_ns - began_ns) / T_NS_PER_MS, <, T3_DEAD_MS,
	    "within T3");
	replay_release("first");
	t_sleep_ms(30);
	ok(replay_running("first"), "the first goes on, and still waits");
	is(lh_verify(behind, &second.lease), 0, "the second's lease is held");
	is(t_waiters(lh, "k"), 1, "the first is in the queue");
	is(lh_release(behind, &second.lease), 0, "release");
	is(replay_result("first"), 0, "then the first acquires the key");
	cmp(first.lease.token, >, second.lease.token, "with a later token");
	is(lh_release(own, &first.lease), 0, "release");
	t_close(own);
	t_close(behind);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 600, "stopped front");
	return done();
}
