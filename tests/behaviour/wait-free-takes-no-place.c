/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: lh_wait_free() returns when nobody holds the key, and hinders
 * nobody: it is not in the queue, and goes before no one.
 *
 * Otherwise a program that only watches a key would delay those that want it.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

#define HOUR_MS 3600000

static int
wait_free(struct t_actor *a, void *arg)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);

	(void)arg;
	return lh_wait_free(a->lh, "k", &o);
}

static struct lh_cancel cancel = LH_CANCEL_INIT;
static struct lh *lh;

static void *
canceller(void *arg)
{
	(void)arg;
	t_sleep_ms(t_long(50));
	(void)lh_cancel(&cancel);
	return NULL;
}

static bool
in_time(void *arg)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, t_long(60));
	int64_t ns = t_now_ns();

	(void)arg;
	is(lh_wait_free(lh, "k", &o), -ETIMEDOUT, "timed out");
	ok(t_since_ms(ns) >= t_long(60) - 1, "not too early");
	return t_since_ms(ns) <= t_long(60) + T4_MS;
}

static void
play(void)
{
	const char *table = t_table();
	struct lh_acquire_opts o = t_opts(HOUR_MS, 0);
	struct t_actor *a, *b, *dies;
	struct lh_lease l;
	unsigned long thread;

	lh = t_open(table);
	a = t_actor(table);
	b = t_actor(table);
	dies = t_actor(table);
	is(lh_wait_free(lh, "k", NULL), 0, "an unknown key is free");
	is(t_holders(lh, "k"), -ENOENT, "and still unknown");
	l = t_hold(lh, "k");
	is(lh_wait_free(lh, "k", &o), -EAGAIN, "a held one is not");
	ok(t_has_detail(), "and that is said");
	t_begin(a, wait_free, NULL);
	ok(t_tries(3, in_time, NULL), "timed out in time");
	is(t_waiters(lh, "k"), 0, "nobody stands in the queue");
	ok(!t_answered(a), "one waits");
	is(lh_release(lh, &l), 0, "released");
	is(t_result_within(a, T3_MS), 0, "the call returns");

	o.mode = LH_SHARED;
	is(lh_acquire(lh, "k", &o, &l), 0, "read");
	t_begin(a, wait_free, NULL);
	t_sleep_ms(t_long(30));
	is(lh_acquire(lh, "k", &o, &l), 0, "another reader gets in");
	is(t_do_acquire(b, "k2", HOUR_MS, 0), 0, "and there is no other way");
	ok(!t_answered(a), "held by readers");
	is(lh_break(lh, "k", NULL, 0), 2, "both are ended");
	is(t_result_within(a, T3_MS), 0, "the call returns");

	is(t_do_acquire(dies, "k", HOUR_MS, 0), 0, "somebody holds it");
	t_begin(a, wait_free, NULL);
	t_sleep_ms(t_long(20));
	t_actor_kill(dies);
	is(t_result_within(a, T2_MS), 0, "a dead holder is none");

	l = t_hold(lh, "k");
	o = t_opts(HOUR_MS, HOUR_MS);
	o.cancel = &cancel;
	thread = t_thread(canceller, NULL);
	is(lh_wait_free(lh, "k", &o), -ECANCELED, "cancelled");
	t_join(thread);
	is(lh_wait_free(lh, "", NULL), -EINVAL, "no key");
	t_actor_free(dies);
	t_actor_end(a);
	t_actor_end(b);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 200, "wait free takes no place");
	return done();
}
