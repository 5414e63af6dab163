/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G7 and G8, member/batch.c: a request for several keys that are not
 * all free keeps no other host from those that nobody uses, and keeps its own
 * host's place in each queue.
 *
 *	a set of A is the first in the queue for m2, and waits for m0; a set of
 *	B, or a process that acquires key after key, holds m0 and waits for m2
 *
 *	a set of A waits for m0, and C behind it; another process of A wants
 *	the same keys: A comes first still
 *
 * Otherwise hosts that acquire their keys in one order would wait for each
 * other as long as they may, or one host would never have its turn.
 */
#include <errno.h>
#include "support/hosts.h"

static struct host *a = &hosts[0], *b = &hosts[1], *c = &hosts[2];

struct set {
	struct host *h;
	const char *key[3];
	size_t n;
};

static void *
acquire_set(void *arg)
{
	static int errors[HOSTS_MAX];
	const struct set *s = arg;
	int *error = &errors[s->h->number];
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	struct lh_item items[3];
	struct lh_lease l[3];

	for (size_t i = 0; i < s->n; i++)
		items[i] = (struct lh_item){ .key = s->key[i] };
	*error = lh_acquire_many(s->h->lh, items, s->n, &o, l);
	if (*error == 0)
		*error = lh_release_many(s->h->lh, l, s->n);
	return error;
}

/* A set that waits in B has the first key. */
static bool
has_first(void)
{
	struct lh_acquire_opts o = t_opts(60000, 0);
	struct lh_lease l;

	if (lh_acquire(b->lh, "cluster:m0", &o, &l) != 0)
		return true;
	(void)lh_release(b->lh, &l);
	return false;
}

static void
a_set_and_a_set(void)
{
	struct set of_a = { a, { "cluster:m0", "cluster:m2" }, 2 };
	struct set of_b = { b, { "cluster:m0", "cluster:m1", "cluster:m2" },
	    3 };
	struct lh_lease l[3];
	struct lh_item items[3] = { { .key = "cluster:m0" },
	    { .key = "cluster:m1" }, { .key = "cluster:m2" } };
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	unsigned long set_a, set_b;

	is(lh_acquire_many(b->lh, items, 3, &o, l), 0, "B has the rights");
	is(lh_release(b->lh, &l[0]), 0, "m0 is released");
	is(lh_release(b->lh, &l[2]), 0, "m2 is released");
	set_b = t_thread(acquire_set, &of_b);
	ok(t_until(T_HANG_MS, has_first()), "a set of B holds m0");
	ok(t_await_waiters(b->lh, "cluster:m1", 1), "and waits for m1");
	set_a = t_thread(acquire_set, &of_a);
	ok(t_until(T_HANG_MS, host_right(b, "cluster:m2") == RIGHT_NONE),
	    "a set of A is the first in the queue for m2");
	is(take(b, "cluster:m2", RIGHT_EXCLUSIVE, T_HANG_MS, &l[2]), 0,
	    "another process of B acquires m2");
	is(lh_release(b->lh, &l[2]), 0, "m2 is released");
	is(lh_release(b->lh, &l[1]), 0, "m1 is released");
	is(*(int *)t_join(set_a), 0, "the set of A is acquired");
	is(*(int *)t_join(set_b), 0, "that of B as well");
}

static void
a_set_and_key_after_key(void)
{
	struct set of_a = { a, { "cluster:m0", "cluster:m2" }, 2 };
	struct lh_lease l[2];
	unsigned long set_a;

	is(take(b, "cluster:m0", RIGHT_EXCLUSIVE, T_HANG_MS, &l[0]), 0,
	    "B holds m0");
	set_a = t_thread(acquire_set, &of_a);
	ok(t_until(T_HANG_MS, host_may(a, "cluster:m2", RIGHT_EXCLUSIVE)),
	    "A wants m0 and m2, and has the right to m2 alone");
	is(take(b, "cluster:m2", RIGHT_EXCLUSIVE, T_HANG_MS, &l[1]), 0,
	    "B acquires m2 as well");
	is(lh_release(b->lh, &l[1]), 0, "m2 is released");
	is(lh_release(b->lh, &l[0]), 0, "m0 is released");
	is(*(int *)t_join(set_a), 0, "the set of A is acquired");
}

static unsigned taken_before;

/* C acquires m0 and says how many rights A has taken until then. */
static void *
acquire_behind(void *arg)
{
	static int taken;
	struct lh_lease l;
	int error = take(c, "cluster:m0", RIGHT_EXCLUSIVE, T_HANG_MS, &l);

	(void)arg;
	taken = (int)(host_counts(a).taken - taken_before);
	if (error != 0 || lh_release(c->lh, &l) != 0)
		taken = -1;
	return &taken;
}

static bool
waits_at(struct host *h)
{
	return t_waiters(h->lh, "cluster:m0") > 0;
}

static void
a_place_is_kept(void)
{
	struct set of_a = { a, { "cluster:m0", "cluster:m2" }, 2 };
	struct set again = of_a;
	struct lh_acquire_opts try = t_opts(60000, 0);
	unsigned long first, behind, second;
	struct lh_lease l, none;

	is(take(b, "cluster:m0", RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0,
	    "B holds m0");
	first = t_thread(acquire_set, &of_a);
	ok(t_until(T_HANG_MS, waits_at(a)), "a set of A waits for it");
	t_sleep_ms(50);
	behind = t_thread(acquire_behind, NULL);
	ok(t_until(T_HANG_MS, waits_at(c)), "then a process of C");
	t_sleep_ms(50);
	is(lh_acquire(a->lh, "cluster:m0", &try, &none), -EAGAIN,
	    "a try of another process of A is busy");
	second = t_thread(acquire_set, &again);
	ok(t_await_waiters(a->lh, "cluster:m0", 2),
	    "and one more wants the same set");
	taken_before = host_counts(a).taken;
	is(lh_release(b->lh, &l), 0, "m0 is released");
	cmp(*(int *)t_join(behind), >, 0, "A has it before C");
	is(*(int *)t_join(first), 0, "the set of A is acquired");
	is(*(int *)t_join(second), 0, "and the other one");
}

int
main(void)
{
	hosts_begin(3);
	a_set_and_a_set();
	a_set_and_key_after_key();
	a_place_is_kept();
	hosts_end();
	return done();
}
