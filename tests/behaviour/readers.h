/* SPDX-License-Identifier: MIT */
/*
 * Short forms for tests of shared mode: acquiring shared and converting, here
 * and in actors, and a key as lh_status() tells it.
 */
#ifndef TESTS_BEHAVIOUR_READERS_H
#define TESTS_BEHAVIOUR_READERS_H

#include <string.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define HOUR_MS		INT64_C(3600000)
#define T_PARTIES	64	/* of each kind that a view has room for */

#define READERS_FN	__attribute__((unused)) static

READERS_FN struct lh_acquire_opts
t_read_opts(int64_t ttl_ms, int64_t wait_ms)
{
	struct lh_acquire_opts o = t_opts(ttl_ms, wait_ms);

	o.mode = LH_SHARED;
	return o;
}

/* As t_acquire(), shared. */
READERS_FN int
t_read(struct lh *lh, const char *key, int64_t ttl_ms, int64_t wait_ms,
    struct lh_lease *lease)
{
	struct lh_acquire_opts o = t_read_opts(ttl_ms, wait_ms);

	return lh_acquire(lh, key, &o, lease);
}

/* As t_hold(), shared. */
READERS_FN struct lh_lease
t_read_hold(struct lh *lh, const char *key)
{
	struct lh_lease lease;
	int r = t_read(lh, key, HOUR_MS, 0, &lease);

	if (r != 0)
		bail_out("cannot take key '%s' shared: %s: %s", key,
		    lh_strerror(r), lh_error_detail());
	return lease;
}

/* Ask for it without waiting, and give it back: the answer. */
READERS_FN int
t_try(struct lh *lh, const char *key, uint32_t mode, uint32_t priority)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, 0);
	struct lh_lease lease;
	int r;

	o.mode = mode;
	o.priority = priority;
	r = lh_acquire(lh, key, &o, &lease);
	if (r == 0)
		r = lh_release(lh, &lease);
	return r;
}

READERS_FN void
t_begin_read(struct t_actor *a, const char *key, int64_t ttl_ms,
    int64_t wait_ms)
{
	struct lh_acquire_opts o = t_read_opts(ttl_ms, wait_ms);

	t_begin_acquire_opts(a, key, &o);
}

READERS_FN int
t_do_read(struct t_actor *a, const char *key, int64_t ttl_ms,
    int64_t wait_ms)
{
	t_begin_read(a, key, ttl_ms, wait_ms);
	return t_result(a);
}

/* An actor that begins to wait for k as number n of those who wait. */
READERS_FN void
t_queue(struct lh *lh, struct t_actor *a, uint32_t mode, uint32_t priority,
    int n)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);

	o.mode = mode;
	o.priority = priority;
	t_begin_acquire_opts(a, "k", &o);
	if (!t_await_waiters(lh, "k", n))
		bail_out("a waiter is missing");
}

READERS_FN int
t_convert_it(struct t_actor *a, void *arg)
{
	return lh_convert(a->lh, &a->lease, (uint32_t)(uintptr_t)arg);
}

READERS_FN int
t_do_convert(struct t_actor *a, uint32_t mode)
{
	return t_do(a, t_convert_it, (void *)(uintptr_t)mode);
}

/* Wait until the key has exactly n holders; false after ms. */
READERS_FN bool
t_await_holders(struct lh *lh, const char *key, int n, int64_t ms)
{
	if (t_until(ms, t_holders(lh, key) == n))
		return true;
	diag("key '%s' has %d holders, not %d", key, t_holders(lh, key), n);
	return false;
}

/* A key as status reports it. */
struct t_view {
	int calls;
	struct lh_key_info info;	/* its pointers lead nowhere */
	struct lh_party holders[T_PARTIES], waiters[T_PARTIES];
};

READERS_FN int
t_view_keep(const struct lh_key_info *info, void *arg)
{
	struct t_view *v = arg;

	v->calls++;
	v->info = *info;
	for (uint32_t i = 0; i < info->n_holders && i < T_PARTIES; i++)
		v->holders[i] = info->holders[i];
	for (uint32_t i = 0; i < info->n_waiters && i < T_PARTIES; i++)
		v->waiters[i] = info->waiters[i];
	v->info.key = NULL;
	v->info.holders = v->info.waiters = NULL;
	return 0;
}

READERS_FN int
t_look(struct lh *lh, const char *key, struct t_view *v)
{
	memset(v, 0, sizeof(*v));
	return lh_status(lh, key, NULL, t_view_keep, v);
}

/* Milliseconds from a point on the clock until what an actor did last. */
READERS_FN int64_t
t_after_ms(const struct t_actor *a, int64_t from_ns)
{
	return (a->ended_ns - from_ns) / T_NS_PER_MS;
}

#endif
