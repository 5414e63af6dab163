/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8, lh_acquire_opts.deadline_ns: a deadline that is not 0 limits
 * the wait on the table's clock, and max_wait_ms is ignored; whether it is
 * longer or shorter, past or future.  A free key is granted although the
 * deadline has passed.
 *
 * Otherwise a caller that shares one deadline among several acquires would wait
 * longer than it asked for.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

static struct lh *lh;

static bool
until(void *arg)
{
	static const int64_t max_waits[] = { 0, 1, 3600000, LH_WAIT_FOREVER };
	struct lh_acquire_opts o = t_opts(1000, 0);
	int64_t late, worst = 0;
	struct lh_lease l;

	(void)arg;
	for (int i = 0; i < 4; i++) {
		o.max_wait_ms = max_waits[i];
		o.deadline_ns = lh_clock_ns(lh) + t_ms(30) * T_NS_PER_MS;
		is(lh_acquire(lh, "k", &o, &l), -ETIMEDOUT,
		    "max_wait %lld: waited", (long long)o.max_wait_ms);
		late = lh_clock_ns(lh) - o.deadline_ns;
		cmp(late, >=, 0, "until the deadline");
		if (late > worst)
			worst = late;
	}
	return worst <= T4_MS * T_NS_PER_MS;
}

static bool
past(void *arg)
{
	struct lh_acquire_opts o = t_opts(1000, 3600000);
	int64_t began_ns = t_now_ns();
	struct lh_lease l;
	int refused = 0;

	(void)arg;
	for (int i = 0; i < 3; i++) {
		o.deadline_ns = i == 0 ? 1 : i == 1 ? lh_clock_ns(lh) - 1 :
		    lh_clock_ns(lh) - 5000 * T_NS_PER_MS;
		refused += lh_acquire(lh, "k", &o, &l) == -ETIMEDOUT;
	}
	is(refused, 3, "a deadline in the past times out");
	return t_since_ms(began_ns) < T4_MS;
}

int
main(void)
{
	const char *table = t_table();
	struct t_actor *a = t_actor(table);
	struct lh_acquire_opts o = t_opts(3600000, 0);
	int64_t before, now;
	struct lh_lease l;

	lh = t_open(table);
	before = t_now_ns();
	now = lh_clock_ns(lh);
	ok(before <= now && now <= t_now_ns(),
	    "the table's clock is CLOCK_MONOTONIC");
	is(t_do_acquire(a, "k", 3600000, 0), 0, "another process holds");
	ok(t_tries(3, until, NULL), "and not much longer");
	ok(t_tries(3, past, NULL), "at once");

	o.deadline_ns = lh_clock_ns(lh) + T_HANG_MS * T_NS_PER_MS;
	t_begin_acquire_opts(a, "k", &o);	/* it waits for itself */
	ok(t_await_waiters(lh, "k", 1), "who waits until a deadline");
	ok(!t_answered(a), "waits");
	t_actor_kill(a);
	is(t_acquire(lh, "k", 3600000, T_HANG_MS, &l), 0, "the key is free");
	is(lh_release(lh, &l), 0, "again");
	o.deadline_ns = 1;
	is(lh_acquire(lh, "k", &o, &l), 0,
	    "a free key is granted whatever the deadline");
	is(lh_release(lh, &l), 0, "released");
	t_actor_free(a);
	t_close(lh);
	return done();
}
