/* SPDX-License-Identifier: MIT */
/*
 * A table's clock over a suspension.  The clock that the library reads is
 * replaced by one on which the machine can be suspended for an hour:
 * CLOCK_BOOTTIME jumps, CLOCK_MONOTONIC does not (but moves on by some ns, as
 * the kernel's does).  In a table made with LH_CLOCK_BOOTTIME a holder has
 * lost its lease, every call of it says so (G3), and the waiter has the key.  A
 * lease acquired afterwards is whole.  In the usual table everything lasts on.
 */
#include <errno.h>
#include <pthread.h>
#include "base/clock.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

#define HOUR (3600 * NS_PER_SEC)
#define TTL_MS (60 * 1000)

static lhi_gettime_fn *real;
static _Atomic int64_t asleep_ns, moved_ns;

static int
fake(clockid_t clock, struct timespec *ts)
{
	int64_t ns;
	int r = real(clock, ts);

	ns = lhi_timespec_ns(ts) + moved_ns;
	if (clock == CLOCK_BOOTTIME)
		ns += asleep_ns;
	ts->tv_sec = ns / NS_PER_SEC;
	ts->tv_nsec = ns % NS_PER_SEC;
	return r;
}

static void
suspend(void)
{
	asleep_ns += HOUR;
	moved_ns += 1;
}

static struct lh *
open_with(uint32_t clock)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh = NULL;

	o.clock = clock;
	is(lh_open(&lh, t_table(), &o), 0, "a table with clock %u", clock);
	return lh;
}

struct waiter {
	struct lh *lh;
	int error;
	struct lh_lease lease;
};

static void *
wait_for_it(void *arg)
{
	struct waiter *w = arg;

	w->error = t_acquire(w->lh, "waited", TTL_MS, 10 * HOUR / NS_PER_MS,
	    &w->lease);
	return NULL;
}

static void
expires_meanwhile(void)
{
	struct lh *lh = open_with(LH_CLOCK_BOOTTIME);
	struct waiter w = { .lh = lh, .error = 1 };
	struct lh_lease held, shared, waited, again;
	struct lh_acquire_opts o = t_opts(TTL_MS, 0);
	struct lh_stats st = { .size = sizeof(st) };
	int64_t now, acquired_ns;
	pthread_t t;

	is(lh_stats(lh, &st), 0, "its statistics");
	is((int)st.clock, LH_CLOCK_BOOTTIME, "name its clock");
	now = lh_clock_ns(lh);
	ok(now - t_now_ns() > HOUR / 2, "its clock is ahead of the other one");
	is(t_acquire(lh, "held", TTL_MS, 0, &held), 0, "a lease");
	acquired_ns = t_acquired_ns(lh, &held);
	ok(acquired_ns <= lh_clock_ns(lh) &&
	    acquired_ns > now - 20 * NS_PER_MS, "acquired now, there");
	ok(held.expires_ns - acquired_ns >= (TTL_MS - 10) * NS_PER_MS &&
	    held.expires_ns - acquired_ns <= (TTL_MS + 10) * NS_PER_MS,
	    "of the length that was asked for");
	o.mode = LH_SHARED;
	is(lh_acquire(lh, "shared", &o, &shared), 0, "a shared one");
	waited = t_hold(lh, "waited");
	is(lh_extend(lh, &waited, TTL_MS), 0, "one that is waited for");
	is(pthread_create(&t, NULL, wait_for_it, &w), 0, "by a thread");
	ok(t_await_waiters(lh, "waited", 1), "which waits");
	is(lh_verify(lh, &held), 0, "it is held");
	suspend();
	is(lh_verify(lh, &held), -ESTALE, "an hour of sleep later it is lost");
	is(lh_extend(lh, &held, TTL_MS), -ESTALE, "for good");
	is(lh_release(lh, &held), -ESTALE, "and its release says so");
	is(lh_extend(lh, &shared, TTL_MS), -ESTALE, "the shared one, too");
	is(pthread_join(t, NULL), 0, "the waiter comes back");
	is(w.error, 0, "with the key");
	ok(w.lease.notes & LH_NOTE_PREVIOUS_EXPIRED, "which had expired");
	is(lh_extend(lh, &waited, TTL_MS), -ESTALE, "its holder learns that");
	is(lh_release(lh, &w.lease), 0, "it is released");
	is(t_acquire(lh, "held", TTL_MS, 0, &again), 0, "acquired again");
	suspend();
	is(t_acquire(lh, "held", TTL_MS, 0, &held), 0, "after another hour");
	ok(held.token > again.token, "with a larger token");
	ok(held.expires_ns - lh_clock_ns(lh) > (TTL_MS - 50) * NS_PER_MS,
	    "that lease is whole");
	is(lh_verify(lh, &held), 0, "and held");
	is(lh_release(lh, &held), 0, "until it is released");
	t_close(lh);
}

static void
waits_as_long_as_asked(void)
{
	struct lh *lh = open_with(LH_CLOCK_BOOTTIME);
	struct lh_lease held = t_hold(lh, "k"), l;
	struct lh_acquire_opts o = t_opts(TTL_MS, 60);
	int64_t began = t_now_ns();

	o.flags = LH_NO_DEADLOCK;	/* with ourselves */
	is(lh_acquire(lh, "k", &o, &l), -ETIMEDOUT, "a timed wait");
	ok(t_since_ms(began) >= 60, "not before its time");
	ok(t_since_ms(began) < 60 + T4_MS, "nor long after it");
	is(lh_release(lh, &held), 0, "done");
	t_close(lh);
}

static void
lasts_on(void)
{
	struct lh *lh = open_with(LH_CLOCK_MONOTONIC);
	struct lh_lease held;

	is(t_acquire(lh, "held", TTL_MS, 0, &held), 0, "the usual clock");
	suspend();
	is(lh_verify(lh, &held), 0, "stands still meanwhile");
	is(lh_extend(lh, &held, TTL_MS), 0, "so that it can be extended");
	is(lh_release(lh, &held), 0, "and released");
	t_close(lh);
}

static void
play(void)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh = NULL;

	real = lhi_gettime;
	lhi_gettime = fake;
	suspend();
	expires_meanwhile();
	waits_as_long_as_asked();
	lasts_on();
	o.clock = 2;
	is(lh_open(&lh, t_table(), &o), -EINVAL, "there is no third clock");
	ok(t_has_detail(), "with a reason");
}

int
main(void)
{
	t_part(play, 50, "clock boottime");
	return done();
}
