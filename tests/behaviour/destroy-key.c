/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2, lh_destroy(): a key that is held or waited for is not
 * destroyed, with another error for one's own; destroying a free key is
 * idempotent; a kept key can be destroyed, and stays kept when that is refused.
 * Tokens go on after it.
 *
 * Otherwise a destroyed key would begin again with old tokens, or a held key
 * would disappear.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

static struct lh *lh;
static const char *table;

static int
has_key(const struct lh_key_info *info, void *arg)
{
	(void)info;
	*(bool *)arg = true;
	return 0;
}

static bool
there(const char *key)
{
	bool found = false;

	(void)lh_status(lh, key, NULL, has_key, &found);
	return found;
}

static void
free_ones(void)
{
	struct lh_lease l = t_hold(lh, "k"), again;

	is(lh_destroy(lh, "k"), -EALREADY, "held by us: so it says");
	ok(t_has_detail(), "with a reason: %s", lh_error_detail());
	is(lh_verify(lh, &l), 0, "and is held still");
	is(lh_release(lh, &l), 0, "released");
	is(lh_destroy(lh, "k"), 0, "it goes");
	ok(!there("k"), "is gone");
	is(lh_destroy(lh, "k"), 0, "and once more");
	is(lh_destroy(lh, "never"), 0, "as one that never was");
	is(t_acquire(lh, "k", 1000, 0, &again), 0, "it can be made again");
	cmp(again.token, >, l.token, "with a larger token");
	is(lh_release(lh, &again), 0, "released");
	is(lh_extend(lh, &again, 1000), -ESTALE, "the old lease is nothing");
}

static void
kept_ones(void)
{
	struct t_actor *a = t_actor(table);

	is(lh_key_create(lh, "kept"), 0, "a key that stays");
	is(t_do_acquire(a, "kept", 3600000, 0), 0, "held by another");
	is(lh_destroy(lh, "kept"), -EBUSY, "is in use");
	is(t_do_release(a), 0, "until it is released");
	is(lh_evict(lh, "kept", 0), 0, "it was not forgotten for that");
	ok(there("kept"), "and is there");
	is(lh_destroy(lh, "kept"), 0, "destroyed");
	ok(!there("kept"), "it is gone");
	is(lh_key_create(lh, "kept"), 0, "made again, by whoever likes");
	is(lh_evict(lh, "kept", 0), 0, "it stays again");
	t_actor_end(a);
}

static void
used_ones(void)
{
	struct lh_acquire_opts o = t_opts(3600000, 0);
	struct t_actor *a = t_actor(table), *w = t_actor(table);
	struct lh_lease mine;

	o.mode = LH_SHARED;
	t_begin_acquire_opts(a, "r", &o);
	is(t_result(a), 0, "a reader");
	is(lh_destroy(lh, "r"), -EBUSY, "a reader prevents it");
	is(lh_acquire(lh, "r", &o, &mine), 0, "we read, too");
	is(lh_destroy(lh, "r"), -EALREADY, "then we are");
	is(lh_release(lh, &mine), 0, "no more");
	t_begin_acquire(w, "r", 3600000, T_HANG_MS);
	ok(t_await_waiters(lh, "r", 1), "a writer waits");
	is(lh_destroy(lh, "r"), -EBUSY, "so does it");
	is(t_do_release(a), 0, "the reader goes");
	is(t_result(w), 0, "the writer comes");
	t_actor_kill(w);
	ok(t_until(T_HANG_MS, lh_destroy(lh, "r") == 0),
	    "a dead reader does not prevent it");
	ok(!there("r"), "it is gone");
	t_actor_end(a);
	t_actor_free(w);
}

int
main(void)
{
	table = t_table();
	lh = t_open(table);
	free_ones();
	kept_ones();
	used_ones();
	is(lh_destroy(lh, ""), -EINVAL, "no key");
	is(lh_destroy(lh, NULL), -EINVAL, "none at all");
	is(lh_destroy(NULL, "k"), -EINVAL, "no table");
	t_close(lh);
	return done();
}
