/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G3: a release that races the lease's expiry.  Exactly one of them
 * frees the key, and the release's result says which: 0 if nobody had noticed
 * that the deadline has passed, -ESTALE if somebody had.  The next holder must
 * keep the key.  The release is stopped before its swap, or the expirer before
 * or between its two swaps; in the thread that acquired (fast path) and in
 * another one.
 *
 * Otherwise a late release would free the key under its next holder.
 */
#include "replay.h"

#define TTL_MS t_long(110)

static struct lh *lh, *other, *third;

/* The release runs in the role's thread, on one of two paths. */
struct job {
	struct replay_call call;
	bool own;		/* acquired by the same thread: the fast path */
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

/* The release is stopped before its swap until the deadline has passed. */
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
		is(replay_try(other, "k", &l), 0,
		    "another process acquires it");
	is(replay_finish("releaser"), noticed ? -ESTALE : 0,
	    "%s: release past the deadline, %s", path,
	    noticed ? "noticed" : "unnoticed");
	if (!noticed)
		is(replay_try(other, "k", &l), 0, "the key is free");
	is(lh_verify(other, &l), 0, "the next holder's lease is held");
	is(lh_release(other, &l), 0, "release");
}

/* The expirer is stopped at `point`; the release comes meanwhile, or was
 * stopped before its swap already. */
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
	is(replay_try(third, "k", &l), 0, "a third process acquires it");
	is(replay_finish("expirer"), -EAGAIN, "the expirer finds it busy");
	is(lh_verify(third, &l), 0, "and the third one's lease is held");
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
	/* the expirer has claims: its first swap is that of the state */
	l = t_hold(other, "other");
	is(lh_release(other, &l), 0, "release");
	for (int own = 0; own < 2; own++) {
		late_release(own, false);
		late_release(own, true);
		stopped_expirer(own, "cas", false, 0);
		stopped_expirer(own, "cas", true, 0);
		/* after the first of its two swaps the expiry is noticed */
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
