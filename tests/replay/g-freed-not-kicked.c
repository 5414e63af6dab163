/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G6, timing T3, crash rows R3 and X2: a caller frees the lock word
 * and is stopped before it wakes the first waiter.  The waiter must acquire the
 * key within T3 all the same, and the stopped caller must disturb nobody when
 * it goes on.
 *
 * Otherwise a waiter would sleep beside a free key for as long as the releasing
 * process is stopped.
 */
#include "replay.h"

static struct lh *lh, *waiting, *other;

struct job {
	struct replay_call call;
	struct t_event acquired, now;
};

static int
hold_and_release(void *arg)
{
	struct job *j = arg;

	if (replay_acquire(&j->call) != 0)
		return -EINVAL;
	t_post(&j->acquired);
	if (!t_await(&j->now, 1, REPLAY_MS))
		return -ETIME;
	return replay_release_lease(&j->call);
}

static void
granted(struct replay_call *w, int64_t free_ns, const char *by)
{
	is(replay_result("waiter"), 0, "the waiter acquires the key: %s", by);
	cmp((w->ended_ns - free_ns) / T_NS_PER_MS, <, T3_MS, "within T3");
}

static void
holds_on(struct replay_call *w)
{
	struct lh_lease l;

	is(lh_verify(waiting, &w->lease), 0, "the waiter still holds it");
	is(replay_try(other, "k", &l), -EAGAIN, "nobody else acquires it");
	is(lh_release(waiting, &w->lease), 0, "release");
}

static void
stopped_release(bool own)
{
	struct replay_call w = REPLAY_CALL(waiting, "k", 60000, REPLAY_LONG_MS);
	struct job j = { .call = REPLAY_CALL(lh, "k", 60000, 0) };
	int64_t free_ns;

	replay_hold("releaser", "release.word_freed");
	if (own) {
		replay_go("releaser", hold_and_release, &j);
		ok(t_await(&j.acquired, 1, REPLAY_MS), "held");
	} else {
		is(replay_acquire(&j.call), 0, "held");
	}
	replay_go("waiter", replay_acquire, &w);
	ok(t_await_waiters(other, "k", 1), "a waiter is queued");
	t_sleep_ms(5);			/* asleep by now */
	t_post(&j.now);
	if (!own)
		replay_go("releaser", replay_release_lease, &j.call);
	replay_wait_held("releaser");
	free_ns = t_now_ns();
	granted(&w, free_ns, own ? "release" : "release by another thread");
	is(replay_finish("releaser"), 0, "the release goes on");
	holds_on(&w);
}

/* A third caller marks the lease expired, frees the word, and is stopped. */
static void
stopped_expirer(void)
{
	struct replay_call w = REPLAY_CALL(waiting, "k", 60000, REPLAY_LONG_MS);
	struct replay_call e = REPLAY_CALL(other, "k", 60000, 0);
	struct lh_lease l;

	is(t_acquire(lh, "k", 150, 0, &l), 0, "k is held for a while");
	replay_stop("waiter", "wait.parked", replay_acquire,
	    &w); /* so that it is not faster than the expirer */
	replay_sleep_past(&l);
	replay_stop("expirer", "lock.freed", replay_acquire, &e);
	replay_release("waiter");
	granted(&w, t_now_ns(), "expiry");
	ok(w.lease.notes & LH_NOTE_PREVIOUS_EXPIRED,
	    "and its lease notes the expiry");
	is(replay_finish("expirer"), -EAGAIN, "the expirer finds it busy");
	holds_on(&w);
}

static void
play_all(void)
{
	const char *table = replay_begin();

	lh = replay_open(table, 0);
	waiting = replay_open(table, 0);
	other = replay_open(table, 0);
	stopped_release(true);
	stopped_release(false);
	stopped_expirer();
	t_close(other);
	t_close(waiting);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 200, "freed not kicked");
	return done();
}
