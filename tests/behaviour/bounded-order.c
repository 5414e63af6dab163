/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G7, timing T3: in the default order newcomers may overtake only
 * until the first waiter has been first for a millisecond.  It acquires the key
 * although others try without a pause; and a newcomer that tries at the moment
 * of a release is refused when the first waiter has waited for much longer than
 * that.
 *
 * Otherwise a busy key would never be granted to a waiter.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define HAMMERS 3
#define ROUNDS 20

static struct shared {
	_Atomic uint32_t stop;
	_Atomic uint64_t grants, odd;
} *sh;

static struct lh *lh;

static int
hammer(struct t_actor *a, void *arg)
{
	struct lh_acquire_opts o = t_opts(3600000, 0);
	struct lh_lease l;
	struct lh_key *k;
	int r;

	(void)arg;
	if (lh_key_open(a->lh, "k", 0, &k) != 0)
		return 1;
	while (!sh->stop) {
		r = lh_key_acquire(k, &o, &l);
		if (r == 0) {
			sh->grants++;
			r = lh_release(a->lh, &l);
		} else if (r == -EAGAIN) {
			r = 0;
		}
		if (r != 0)
			sh->odd++;
	}
	return lh_key_close(k);
}

static bool
front_gets_it(void *arg)
{
	struct t_actor *h[HAMMERS];
	int64_t took, worst = 0;
	struct lh_lease l;
	int granted = 0;

	sh->stop = 0;
	for (int i = 0; i < HAMMERS; i++) {
		h[i] = t_actor(arg);
		t_begin(h[i], hammer, NULL);
	}
	ok(t_until(T_HANG_MS, sh->grants > 0), "others hammer");
	for (int i = 0; i < ROUNDS; i++) {
		int64_t began_ns = t_now_ns();

		if (t_acquire(lh, "k", 3600000, T_HANG_MS, &l) != 0)
			continue;
		took = t_since_ms(began_ns);
		if (took > worst)
			worst = took;
		granted += lh_release(lh, &l) == 0;
	}
	sh->stop = 1;
	for (int i = 0; i < HAMMERS; i++) {
		is(t_result(h[i]), 0, "a hammer had no trouble");
		t_actor_end(h[i]);
	}
	is(granted, ROUNDS, "who waits gets it each time");
	diag("after at most %lld ms; the others had %llu", (long long)worst,
	    (unsigned long long)sh->grants);
	return worst <= T3_MS;
}

static bool
not_overtaken(void *arg)
{
	struct t_actor *w = t_actor(arg);
	int overtaken = 0, n = t_count(ROUNDS, 4);
	struct lh_lease l, newcomer;

	for (int i = 0; i < n; i++) {
		l = t_hold(lh, "k");
		t_begin_acquire(w, "k", 3600000, 3600000);
		if (!t_await_waiters(lh, "k", 1))
			bail_out("the waiter is missing");
		t_sleep_ms(t_ms(30));
		lh_release(lh, &l);
		if (t_acquire(lh, "k", 1000, 0, &newcomer) == 0) {
			overtaken++;
			lh_release(lh, &newcomer);
		}
		if (t_result(w) != 0 || t_do_release(w) != 0)
			fail("the waiter is granted");
	}
	t_actor_end(w);
	diag("overtaken %d times of %d", overtaken, n);
	return overtaken == 0;
}

int
main(void)
{
	struct lh_stats st = { .size = sizeof(st) };
	const char *table = t_table();

	sh = t_shared(sizeof(*sh));
	lh = t_open(table);
	is(lh_stats(lh, &st), 0, "statistics");
	is(st.order, LH_ORDER_BOUNDED, "tell the default order");
	ok(t_tries(3, front_gets_it, (void *)(uintptr_t)table),
	    "within %lld ms", (long long)T3_MS);
	is(sh->odd, 0, "all of them were granted or refused");
	ok(t_tries(3, not_overtaken, (void *)(uintptr_t)table),
	    "a front that has waited is not overtaken");
	t_close(lh);
	return done();
}
