/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G3: acquire never returns a lease that has already expired.
 *
 * An acquire is stopped for longer than its lease would last.  It stands
 * between its announcement and its swap, after the swap, or after it has moved
 * its deadline on.  It is on the fast path or in the queue, and somebody else
 * may acquire the key meanwhile.  It must acquire again, find the key busy, or
 * go on waiting.
 *
 * Otherwise the caller would work under a lease that is over, beside the next
 * holder.
 */
#include "replay.h"

#define TTL_MS t_long(150)		/* long enough for the fast path */
#define TICKS_MS 30		/* a few ticks of the coarse clock */

static struct lh *lh, *other;

struct job {
	struct replay_call call;
	const char *point;
	int verified;		/* right after acquire */
};

/* Acquires the key twice: the second time takes the fast path. */
static int
fast_acquire(void *arg)
{
	struct job *j = arg;
	int r = replay_acquire(&j->call);

	if (r != 0 || replay_release_lease(&j->call) != 0)
		return -EINVAL;
	replay_hold("acquirer", j->point);
	r = replay_acquire(&j->call);
	j->verified = lh_verify(j->call.lh, &j->call.lease);
	return r;
}

static int
queued_acquire(void *arg)
{
	struct job *j = arg;
	int r = replay_acquire(&j->call);

	j->verified = lh_verify(j->call.lh, &j->call.lease);
	return r;
}

static void
is_fresh(struct job *j, const char *what)
{
	is(replay_result("acquirer"), 0, "%s: it acquires anew", what);
	is(j->verified, 0, "and holds what it acquired");
	cmp(j->call.lease.expires_ns, >, j->call.ended_ns, "not expired");
	is(lh_release(j->call.lh, &j->call.lease), 0, "release");
}

static void
fast(const char *point, bool taken)
{
	struct job j = { .call = REPLAY_CALL(lh, "k", TTL_MS, 0),
	    .point = point };
	struct lh_lease l;

	replay_go("acquirer", fast_acquire, &j);
	replay_wait_held("acquirer");
	t_sleep_ms(TTL_MS + 20);
	if (taken)
		is(replay_try(other, "k", &l), 0,
		    "another process acquires it");
	replay_stop_next("acquirer",
	    "acquire.caught_up"); /* which only the fast path does */
	replay_release("acquirer");
	if (!taken) {
		is_fresh(&j, point);
		return;
	}
	is(replay_result("acquirer"), -EAGAIN, "%s: it finds it busy", point);
	is(lh_verify(other, &l), 0, "and the other's lease is held");
	is(lh_release(other, &l), 0, "release");
}

/* Stopped twice: for a few ticks, and then after its deadline has moved. */
static void
fast_twice(bool taken)
{
	struct job j = { .call = REPLAY_CALL(lh, "k", TTL_MS, 0),
	    .point = "acquire.granted" };
	struct lh_lease l;

	replay_go("acquirer", fast_acquire, &j);
	replay_wait_held("acquirer");
	t_sleep_ms(TICKS_MS);
	replay_stop_next("acquirer", "acquire.caught_up");
	is(replay_try(other, "k", &l), -EAGAIN, "it is held meanwhile");
	t_sleep_ms(TTL_MS + TICKS_MS);
	if (taken)
		is(replay_try(other, "k", &l), 0,
		    "then another process acquires it");
	replay_release("acquirer");
	if (!taken) {
		is_fresh(&j, "deadline moved on");
		return;
	}
	is(replay_result("acquirer"), -EAGAIN, "and it finds it busy");
	is(lh_verify(other, &l), 0, "and the other's lease is held");
	is(lh_release(other, &l), 0, "release");
}

static void
queued(const char *point, bool taken)
{
	struct job j = { .call = REPLAY_CALL(lh, "k", TTL_MS,
	    REPLAY_LONG_MS) };
	struct lh_lease held = t_hold(other, "k"), l;

	replay_go("acquirer", queued_acquire, &j);
	ok(t_await_waiters(other, "k", 1), "the acquirer is queued");
	replay_hold("acquirer", point);
	is(lh_release(other, &held), 0, "the holder releases");
	replay_wait_held("acquirer");
	t_sleep_ms(TTL_MS + 20);
	if (taken)
		is(t_acquire(other, "k", REPLAY_LONG_MS, 2000, &l), 0,
		    "another process acquires it");
	replay_release("acquirer");
	if (taken) {
		t_sleep_ms(30);
		ok(replay_running("acquirer"), "the waiter waits on");
		is(t_waiters(other, "k"), 1, "in the queue");
		is(lh_release(other, &l), 0, "it is released again");
	}
	is_fresh(&j, point);
}

static void
play_all(void)
{
	const char *table = replay_begin();

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	fast("acquire.announced", false);
	fast("acquire.granted", false);
	fast("acquire.granted", true);
	fast_twice(false);
	fast_twice(true);
	queued("acquire.announced", false);
	queued("acquire.granted", false);
	queued("acquire.granted", true);
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 100, "late acquire");
	return done();
}
