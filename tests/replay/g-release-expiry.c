/* SPDX-License-Identifier: MIT */
/*
 * A release that races the lease's expiry: exactly one of them frees the key,
 * and the release says which (G3): 0 if nobody had noticed that the deadline
 * was past, -ESTALE if somebody had; and whoever holds the key by then keeps
 * it.
 *
 * The release is stopped before its swap, or the one who expires is stopped
 * before or between its two; by the thread that acquired (fast path) and by
 * another one.
 */
#include "replay.h"

#define TTL_MS t_long(110)

static struct lh *lh, *other, *third;

/* The lease is released in the role's own thread, by one of two paths. */
struct job {
	struct replay_call call;
	bool own;		/* acquired by the same thread */
	struct t_event acquired, now;
};

static int
run(void *arg)
{
	struct job *j = arg;

	if (j->own && replay_acquire(&j->call) != 0)
		return -EINVAL;
	t_post(&j->acquired);
	if (!t_await(&j->now, 1, REPLAY_MS))
		return -ETIME;
	return replay_release_lease(&j->call);
}

static void
begin(struct job *j, bool own)
{
	*j = (struct job){ .call = REPLAY_CALL(lh, "k", TTL_MS, 0),
	    .own = own };
	if (!own)
		is(replay_acquire(&j->call), 0, "k is held");
	replay_go("releaser", run, j);
	if (!t_await(&j->acquired, 1, REPLAY_MS))
		fail("it is acquired");
}

/* The release stands before its swap until the deadline is past. */
static void
late_release(bool own, bool noticed)
{
	const char *path = own ? "own thread" : "another thread";
	struct lh_lease l;
	struct job j;

	begin(&j, own);
	replay_hold("releaser", "cas");
	t_post(&j.now);
	replay_wait_held("releaser");
	replay_sleep_past(&j.call.lease);
	if (noticed)
		is(replay_try(other, "k", &l), 0, "somebody takes it");
	is(replay_finish("releaser"), noticed ? -ESTALE : 0,
	    "%s: release past the deadline, %s", path,
	    noticed ? "noticed" : "unnoticed");
	if (!noticed)
		is(replay_try(other, "k", &l), 0, "it is free");
	is(lh_verify(other, &l), 0, "the next holder has it");
	is(lh_release(other, &l), 0, "release");
}

/*
 * The one who expires stands at `point`; the release comes meanwhile, or stood
 * before its swap already, having found the lease in order.
 */
static void
stopped_expirer(bool own, const char *point, bool stopped_release, int want)
{
	struct replay_call expirer = REPLAY_CALL(other, "k", REPLAY_LONG_MS, 0);
	struct lh_lease l;
	struct job j;

	begin(&j, own);
	if (stopped_release) {
		replay_hold("releaser", "cas");
		t_post(&j.now);
		replay_wait_held("releaser");
	}
	replay_sleep_past(&j.call.lease);
	replay_stop("expirer", point, replay_acquire, &expirer);
	if (stopped_release)
		replay_release("releaser");
	else
		t_post(&j.now);
	is(replay_result("releaser"), want, "%s: release%s, expirer at %s",
	    own ? "own thread" : "another thread",
	    stopped_release ? " in the middle" : "", point);
	is(replay_try(third, "k", &l), 0, "a third one gets it");
	is(replay_finish("expirer"), -EAGAIN, "the expirer finds it busy");
	is(lh_verify(third, &l), 0, "and disturbs nobody");
	is(lh_release(third, &l), 0, "release");
}

static void
play_all(void)
{
	const char *table = replay_begin();
	struct lh_lease l;

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	third = replay_open(table, 0);
	/* from here on the expirer's first swap is that of the state */
	l = t_hold(other, "other");
	is(lh_release(other, &l), 0, "release");
	for (int own = 0; own < 2; own++) {
		late_release(own, false);
		late_release(own, true);
		stopped_expirer(own, "cas", false, 0);
		stopped_expirer(own, "cas", true, 0);
		/* after the first of its two swaps; it has been noticed */
		stopped_expirer(own, "lock.expired", false, -ESTALE);
		stopped_expirer(own, "lock.expired", true, -ESTALE);
	}
	t_close(third);
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 100, "release expiry");
	return done();
}
