/* SPDX-License-Identifier: MIT */
/*
 * Timing T4: a timed wait that fails has lasted at least its time and not much
 * more; one that succeeds does so when the key is released, not at its end; a
 * try does not wait at all.  By name and by opened key.  "Never early" is
 * absolute; "late" is asserted at ten times the bound, and the bound itself (T
 * <= 1.1 T + 5 ms on a quiet machine) is printed.
 *
 * Otherwise a program would give up too early, or hang past its limit.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

static struct lh *lh;
static struct lh_key *key;

static bool
lasts(void *arg)
{
	static const int64_t waits[] = { 1, 3, 10, 25, 70, 150 };
	int64_t took, worst = 0;
	int early = 0, tight = 0, wrong = 0;
	struct lh_lease l;

	(void)arg;
	for (size_t i = 0; i < 12; i++) {
		int64_t wait = waits[i / 2];
		struct lh_acquire_opts o = t_opts(1000, wait);
		int64_t began_ns = t_now_ns();
		int r = i % 2 ? lh_key_acquire(key, &o, &l) :
		    lh_acquire(lh, "k", &o, &l);

		took = t_now_ns() - began_ns;
		wrong += r != -ETIMEDOUT;
		early += took < wait * T_NS_PER_MS;
		tight += took <= (wait * 11 / 10 + 5) * T_NS_PER_MS;
		if (took - wait * T_NS_PER_MS > worst)
			worst = took - wait * T_NS_PER_MS;
	}
	is(wrong, 0, "all of them time out");
	is(early, 0, "none returns before its time");
	diag("%d of 12 within 1.1 T + 5 ms, the worst %lld us late", tight,
	    (long long)(worst / 1000));
	return worst <= T4_MS * T_NS_PER_MS;
}

static bool
try_returns_at_once(void *arg)
{
	int64_t began_ns = t_now_ns();
	struct lh_lease l;
	int busy = 0;

	(void)arg;
	for (int i = 0; i < 100; i++)
		busy += t_acquire(lh, "k", 1000, 0, &l) == -EAGAIN;
	is(busy, 100, "a hundred tries are refused");
	return t_since_ms(began_ns) < T4_MS;
}

static bool
succeeds_after_release(void *arg)
{
	struct t_actor *w = arg;
	struct lh_lease l = t_hold(lh, "other");
	int64_t released_ns;

	t_begin_acquire(w, "other", 3600000, T_HANG_MS);
	ok(t_await_waiters(lh, "other", 1), "a timed wait");
	t_sleep_ms(t_ms(20));
	released_ns = t_now_ns();
	is(lh_release(lh, &l), 0, "the key is released");
	is(t_result(w), 0, "it is granted");
	is(t_do_release(w), 0, "and released");
	return w->began_ns - released_ns <= T3_MS * T_NS_PER_MS;
}

int
main(void)
{
	const char *table = t_table();
	struct t_actor *a = t_actor(table), *w = t_actor(table);

	lh = t_open(table);
	is(lh_key_open(lh, "k", 0, &key), 0, "opened");
	is(t_do_acquire(a, "k", 3600000, 0), 0, "another process holds");
	ok(t_tries(3, lasts, NULL), "none is more than %lld ms late",
	    (long long)T4_MS);
	ok(t_tries(3, try_returns_at_once, NULL), "at once");
	ok(t_tries(3, succeeds_after_release, w), "within %lld ms",
	    (long long)T3_MS);
	is(t_waiters(lh, "k"), 0, "nobody is left waiting");
	is(lh_key_close(key), 0, "closed");
	t_actor_end(a);
	t_actor_end(w);
	t_close(lh);
	return done();
}
