/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2: an evicted key that is made again goes on with larger tokens,
 * also when its slot has belonged to other keys meanwhile, and the key to other
 * slots.  Keys that must stay are not evicted: keys that are held or waited
 * for, those of lh_key_create(), and, on request, keys whose last holder left a
 * note.  A key that was used since the first look is not idle, and a prefix
 * means exactly that prefix.
 *
 * Otherwise a key would give its old tokens again, or a key in use would
 * disappear.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

static struct lh *lh;

static int64_t
n_keys(void)
{
	struct lh_stats st = { .size = sizeof(st) };

	return lh_stats(lh, &st) == 0 ? (int64_t)st.keys : -1;
}

static uint64_t
touch(const char *key)
{
	struct lh_lease l = t_hold(lh, key);

	is(lh_release(lh, &l), 0, "%s is taken and released", key);
	return l.token;
}

static void
comes_back(void)
{
	uint64_t last[2] = { touch("a"), touch("b") }, token, far = 0;

	for (int i = 0; i < 5; i++) {
		is(lh_evict(lh, NULL, 0), 2, "both keys go");
		is(n_keys(), 0, "none is left");
		is(lh_evict(lh, NULL, 0), 0, "and none can go again");
		/* in the other order: they exchange their slots */
		token = touch(i % 2 == 0 ? "b" : "a");
		cmp(token, >, last[i % 2 == 0], "with a larger token");
		last[i % 2 == 0] = token;
		token = touch(i % 2 == 0 ? "a" : "b");
		cmp(token, >, last[i % 2 != 0], "the other one, too");
		last[i % 2 != 0] = token;
	}
	is(lh_evict(lh, NULL, 0), 2, "once more");

	/* through other slots and shards: a table of few slots, many names */
	for (int i = 0; i < 500; i++) {
		char name[24];

		snprintf(name, sizeof(name), "other-%d", i);
		for (int j = 0; j < 3; j++) {
			struct lh_lease l = t_hold(lh, name);

			far = l.token > far ? l.token : far;
			if (lh_release(lh, &l) != 0)
				fail("releasing %s", name);
		}
		if (i % 50 == 0)
			(void)lh_evict(lh, "other-", 0);
	}
	token = touch("a");
	cmp(token, >, last[0], "a comes back with a larger token");
	cmp(token, <, far + 1000000, "and not from another age");
	token = touch("b");
	cmp(token, >, last[1], "and so does b");
	cmp(lh_evict(lh, NULL, 0), >=, 2, "everything goes");
	is(n_keys(), 0, "all of it");
}

static void
stays(const char *table)
{
	struct t_actor *a = t_actor(table), *b = t_actor(table);
	struct lh_lease l, late;

	l = t_hold(lh, "held");
	is(lh_evict(lh, NULL, 0), 0, "a held key stays");
	t_begin_acquire(a, "held", 3600000, 3600000);
	ok(t_await_waiters(lh, "held", 1), "and is waited for");
	is(lh_evict(lh, NULL, 0), 0, "still stays");
	is(lh_release(lh, &l), 0, "released");
	is(t_result(a), 0, "granted");
	is(lh_evict(lh, NULL, 0), 0, "stays");
	cmp(a->lease.token, ==, l.token + 1, "the next token");
	is(t_do_release(a), 0, "released");
	is(lh_evict(lh, NULL, 0), 1, "and goes");

	/* a stopped waiter of a free key */
	l = t_hold(lh, "stopped");
	t_begin_acquire(a, "stopped", 3600000, 3600000);
	ok(t_await_waiters(lh, "stopped", 1), "a waiter");
	t_stop(a->pid);
	is(lh_release(lh, &l), 0, "the key is free, the waiter is stopped");
	is(lh_evict(lh, NULL, 0), 0, "the key stays");
	t_cont(a->pid);
	is(t_result(a), 0, "the waiter gets it");
	is(t_do_release(a), 0, "and releases it");

	is(lh_key_create(lh, "kept"), 0, "a key is made to stay");
	is(lh_key_create(lh, "stopped"), 0, "and another, which was there");
	is(lh_evict(lh, NULL, 0), 0, "they stay");
	(void)touch("kept");
	is(lh_evict(lh, NULL, 0), 0, "used or not");
	is(n_keys(), 2, "two of them");

	is(t_do_acquire(b, "late", t_ms(50), 0), 0, "a lease");
	t_sleep_until(b->lease.expires_ns + T_NS_PER_MS);
	is(t_holders(lh, "late"), 0, "expires");
	is(lh_evict(lh, NULL, 0), 0, "what the next holder is to know, stays");
	is(t_acquire(lh, "late", 1000, 0, &late), 0,
	    "the next holder acquires it");
	is(late.notes, LH_NOTE_PREVIOUS_EXPIRED, "that");
	is(lh_release(lh, &late), 0, "released");
	is(lh_evict(lh, NULL, 0), 1, "now it goes");
	t_actor_end(a);
	t_actor_end(b);
}

static void
idle(void)
{
	const int64_t ms = t_ms(400);

	(void)touch("group/1");
	(void)touch("group/2");
	(void)touch("grouper");
	is(lh_evict(lh, "group/", ms), 0, "the first look only looks");
	is(lh_evict(lh, "group/", ms), 0, "nothing is idle for long");
	t_sleep_ms(ms + 2);
	(void)touch("group/2");
	is(lh_evict(lh, "group/", ms), 1, "one was not used since");
	is(t_holders(lh, "group/1"), -ENOENT, "that one has gone");
	is(t_holders(lh, "group/2"), 0, "the used one is there");
	is(t_holders(lh, "grouper"), 0, "nor was another prefix touched");
	is(lh_evict(lh, "gone", 0), 0, "a prefix without keys");
	is(lh_evict(lh, "group/", 0), 1, "no time: used or not");
	is(lh_evict(lh, "group", 0), 1, "the shorter prefix");
	is(lh_evict(lh, NULL, -1), -EINVAL, "less than no time is refused");
	ok(t_has_detail(), "with a reason");
	is(lh_evict(NULL, NULL, 0), -EINVAL, "and so is no table");
}

int
main(void)
{
	struct lh_open_opts o = t_open_opts();
	const char *table = t_table();

	o.max_keys = 64;
	is(lh_open(&lh, table, &o), 0, "a table of 64 keys");
	comes_back();
	stays(table);
	idle();
	t_close(lh);
	return done();
}
