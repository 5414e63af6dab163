/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G6 and G8: two readers of a key wait to upgrade: neither ever
 * could, so the second returns -EDEADLK at once, in words, and its lease is
 * unchanged.  When it releases, the first upgrades.  If both ask at the same
 * moment, exactly one returns -EDEADLK. An upgrader whose lease is over hinders
 * nobody.
 *
 * Otherwise both would wait for each other until their leases end.
 */
#include <errno.h>
#include <string.h>
#include "support/part.h"
#include "upgrade.h"

#define ROUNDS 40

static struct lh *lh;
static struct t_actor *a, *b;

static bool
second(void *arg)
{
	struct lh_lease was;
	int64_t took;

	(void)arg;
	is(t_do_read(a, "k", HOUR_MS, 0), 0, "one reads");
	is(t_do_read(b, "k", HOUR_MS, 0), 0, "another reads");
	was = b->lease;
	t_begin_upgrade(a, HOUR_MS);
	ok(t_await_waiters(lh, "k", 1), "the first waits");
	t_begin_upgrade(b, HOUR_MS);
	is(t_result(b), -EDEADLK, "the second returns -EDEADLK");
	took = t_took_ms(b);
	ok(strstr(b->detail, "'k'") != NULL, "in words: %s", b->detail);
	ok(memcmp(&was, &b->lease, sizeof(was)) == 0, "its lease is as it was");
	is(t_do_verify(b), 0, "and held");
	ok(!t_answered(a), "the first waits on");
	is(t_do_release(b), 0, "the second gives way");
	is(t_result(a), 0, "the first has it");
	is(t_do_release(a), 0, "released");
	is(t_waiters(lh, "k"), 0, "nobody is left in the queue");
	diag("told after %lld ms", (long long)took);
	return took <= t_ms(20);
}

static void
together(void)
{
	int told[2] = { 0, 0 }, wrong = 0;

	for (int i = 0; i < t_count(ROUNDS, 10); i++) {
		struct t_actor *first = i % 2 ? a : b, *other = i % 2 ? b : a;
		int r;

		if (t_do_read(a, "k", HOUR_MS, 0) != 0 ||
		    t_do_read(b, "k", HOUR_MS, 0) != 0)
			bail_out("they cannot read");
		t_begin_upgrade(first, HOUR_MS);
		t_begin_upgrade(other, HOUR_MS);
		if (!t_until(T_HANG_MS, t_answered(a) || t_answered(b)))
			bail_out("neither returns");
		t_sleep_ms(2);
		if (t_answered(a) && t_answered(b))
			wrong++;
		if (t_answered(b))
			other = b, first = a;
		else
			other = a, first = b;
		told[other == b]++;
		r = t_result(other);
		if (r != -EDEADLK || t_do_release(other) != 0)
			fail("round %d: told %d", i, r);
		r = t_result(first);
		if (r != 0 || t_do_release(first) != 0)
			fail("round %d: the other %d", i, r);
	}
	is(wrong, 0, "never both (%d times one, %d times the other)", told[0],
	    told[1]);
}

/* The first is stopped past its lease's end. */
static void
first_lapsed(void)
{
	is(t_do_read(a, "k", t_long(300), 0), 0, "one reads for a while");
	is(t_do_read(b, "k", HOUR_MS, 0), 0, "another reads");
	t_begin_upgrade(a, HOUR_MS);
	ok(t_await_waiters(lh, "k", 1), "the first waits");
	t_stop(a->pid);
	t_sleep_until(a->lease.expires_ns + T_NS_PER_MS);
	t_begin_upgrade(b, HOUR_MS);
	is(t_result(b), 0, "the first's lease is over: the second has it");
	t_cont(a->pid);
	is(t_result(a), -ESTALE, "the first has lost it");
	is(t_do_release(b), 0, "released");
	is(t_waiters(lh, "k"), 0, "nobody is left in the queue");
}

/* Two threads that present one lease are not two readers. */
struct both {
	struct lh_lease l;
	int result;
};

static void *
upgrade_copy(void *arg)
{
	struct both *x = arg;

	x->result = t_upgrade(lh, &x->l, t_long(3000));
	return NULL;
}

static void
one_lease(void)
{
	struct both x[2];
	unsigned long t[2];

	is(t_do_read(b, "k", HOUR_MS, 0), 0, "one reads");
	x[0].l = x[1].l = t_read_hold(lh, "k");
	t[0] = t_thread(upgrade_copy, &x[0]);
	t[1] = t_thread(upgrade_copy, &x[1]);
	ok(t_await_waiters(lh, "k", 2), "a lease is presented twice");
	is(t_do_release(b), 0, "the reader leaves");
	t_join(t[0]);
	t_join(t[1]);
	ok((x[0].result == 0 && x[1].result == -ESTALE) ||
	    (x[1].result == 0 && x[0].result == -ESTALE),
	    "one has it, the other's copy is old (%d, %d)", x[0].result,
	    x[1].result);
	is(lh_release(lh, x[0].result == 0 ? &x[0].l : &x[1].l), 0,
	    "released");
}

static void
play(void)
{
	const char *table = t_table();

	a = t_actor(table);
	b = t_actor(table);
	lh = t_open(table);
	ok(t_tries(3, second, NULL), "at once");
	together();
	first_lapsed();
	one_lease();
	t_actor_end(a);
	t_actor_end(b);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 300, "second upgrader told at once");
	return done();
}
