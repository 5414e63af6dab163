/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8, invariant I6 of live/acquire_many.c: host A's request for two
 * keys is the first in the queue for m2 while it waits for m0.  A process of B
 * holds m0, as the first of a set, and waits for m2.
 *
 * Otherwise both would wait for as long as they may.
 */
#include "support/hosts.h"

static struct host *a = &hosts[0], *b = &hosts[1];

struct set {
	struct host *h;
	const char *key[3];
	size_t n;
};

static void *
acquire_set(void *arg)
{
	static int errors[2];
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

static void *
acquire_last(void *arg)
{
	static int error;
	struct lh_lease l;

	error = take(b, "cluster:m2", RIGHT_EXCLUSIVE, T_HANG_MS, &l);
	if (error == 0)
		error = lh_release(b->lh, &l);
	return &error;
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

int
main(void)
{
	struct set of_a = { a, { "cluster:m0", "cluster:m2" }, 2 };
	struct set of_b = { b, { "cluster:m0", "cluster:m1", "cluster:m2" },
	    3 };
	struct lh_lease l[3];
	struct lh_item items[3] = { { .key = "cluster:m0" },
	    { .key = "cluster:m1" }, { .key = "cluster:m2" } };
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	unsigned long set_a, set_b, last;

	hosts_begin(2);
	is(lh_acquire_many(b->lh, items, 3, &o, l), 0, "B has the rights");
	is(lh_release(b->lh, &l[0]), 0, "m0 is released");
	is(lh_release(b->lh, &l[2]), 0, "m2 is released");
	set_b = t_thread(acquire_set, &of_b);
	ok(t_until(T_HANG_MS, has_first()), "a set of B holds m0");
	ok(t_await_waiters(b->lh, "cluster:m1", 1), "and waits for m1");
	set_a = t_thread(acquire_set, &of_a);
	ok(t_until(T_HANG_MS, host_right(b, "cluster:m2") == RIGHT_NONE),
	    "a set of A is the first in the queue for m2");
	last = t_thread(acquire_last, NULL);
	ok(t_await_waiters(b->lh, "cluster:m2", 1),
	    "another process of B waits for m2");
	is(lh_release(b->lh, &l[1]), 0, "m1 is released");
	is(*(int *)t_join(set_a), 0, "the set of A is acquired");
	is(*(int *)t_join(set_b), 0, "that of B as well");
	is(*(int *)t_join(last), 0, "and the other process got m2");
	hosts_end();
	return done();
}
