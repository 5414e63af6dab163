/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G3, timing T6: a circle of waits that a deadline is about to
 * dissolve is not reported: a lease that ends within 100 ms closes no circle,
 * and the wait ends in a grant.  If another thread renews that lease all the
 * time, the circle stays and is reported.
 *
 * Otherwise callers would fail with -EDEADLK although the key is about to be
 * free.
 */
#include "support/part.h"
#include "circle.h"

static struct lh *lh;
static struct party *a, *b, *p[2];

/* a's lease on x ends by itself before, or little after, anybody looks. */
static void
dissolves(int64_t ttl_ms)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);

	party_has(b, "y", LH_EXCLUSIVE, HOUR_MS);
	party_has(a, "x", LH_EXCLUSIVE, ttl_ms);
	party_begin(a, TAKE, "y", &o);
	party_begin(b, TAKE, "x", &o);
	is(party_result(b), 0,
	    "a lease of %lld ms: it ends, and the key is acquired",
	    (long long)ttl_ms);
	ok(!party_answered(a), "the other call has not returned");
	is(party_lets_go(b), 0, "released");
	is(party_result(a), 0, "the other goes on");
	is(party_lets_go(a), -ESTALE, "released, but for what was lost");
}

static _Atomic bool stop;

static void *
renew(void *arg)
{
	struct lh_lease l = *(struct lh_lease *)arg;

	while (!atomic_load(&stop)) {
		if (lh_extend(lh, &l, t_ms(90)) != 0)
			return lh;
		t_sleep_ms(t_ms(30));
	}
	return NULL;
}

static bool
renewed(void *arg)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);
	unsigned long t;
	int64_t ns;
	int first;

	(void)arg;
	atomic_store(&stop, false);
	party_has(b, "y", LH_EXCLUSIVE, HOUR_MS);
	party_has(a, "x", LH_EXCLUSIVE, t_ms(90));
	t = t_thread(renew, &a->lease[0]);
	party_begin(a, TAKE, "y", &o);
	ok(t_await_waiters(lh, "y", 1), "one waits");
	party_begin(b, TAKE, "x", &o);
	ns = t_now_ns();
	first = party_first(p, 2, T_HANG_MS);
	if (first < 0)
		bail_out("no deadlock is reported");
	is(p[first]->result, -EDEADLK,
	    "renewed all the time: one call reports the deadlock");
	ns = (p[first]->ended_ns - ns) / T_NS_PER_MS;
	diag("after %lld ms", (long long)ns);
	atomic_store(&stop, true);
	is(t_join(t) == NULL, true, "every renewal succeeds");
	t_sleep_ms(t_long(120));
	is(party_lets_go(p[first]), first == 0 ? -ESTALE : 0,
	    "it releases its key");
	is(party_result(p[1 - first]), 0, "the other goes on");
	if (first != 0) {
		/* its first lease has run out; perhaps nobody noticed */
		(void)party_lets_go(a);
	} else {
		is(party_lets_go(b), 0, "the other releases its key");
	}
	return ns <= T6_MS;
}

static void
play(void)
{
	const char *table = t_table();

	lh = t_open(table);
	p[0] = a = party_new(table, lh);
	p[1] = b = party_new(table, lh);
	for (int64_t ttl = 20; ttl <= 140; ttl += 20)
		dissolves(ttl);
	ok(t_tries(3, renewed, NULL), "in time");
	party_end(a);
	party_end(b);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 60, "deadlock dissolved by deadline");
	return done();
}
