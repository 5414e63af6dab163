/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: a call for several keys acquires all or none.  Whatever
 * prevents the last one (busy, time, a switch, no such key), the others are
 * free afterwards, and a timed wait ends neither early nor much too late.
 *
 * Otherwise a failed call would leave keys held that nobody releases.
 */
#include <errno.h>
#include "support/child.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

#define N 3

/* Not in the order of their bytes. */
static const struct lh_item items[N] = {
	{ .key = "m", .mode = LH_EXCLUSIVE },
	{ .key = "z", .mode = LH_EXCLUSIVE },
	{ .key = "a", .mode = LH_SHARED },
};

static struct lh *lh, *other;
static struct lh_cancel cancel = LH_CANCEL_INIT;

/* This very thread holds what is waited for. */
static struct lh_acquire_opts
for_what_we_hold(int64_t wait_ms)
{
	struct lh_acquire_opts o = t_opts(60000, wait_ms);

	o.flags = LH_NO_DEADLOCK;
	return o;
}

static void
all_free(const char *after)
{
	for (int i = 0; i < N; i++)
		is(t_holders(lh, items[i].key), 0, "%s: '%s' is free", after,
		    items[i].key);
}

static void
untouched(const struct lh_lease *l, const char *after)
{
	static const struct lh_lease zero[N];

	ok(memcmp(l, zero, sizeof(zero)) == 0, "%s: no lease was filled",
	    after);
}

static void
all_had(void)
{
	struct lh_lease l[N], theirs, z;
	int64_t now;

	now = lh_clock_ns(lh);
	is(lh_acquire_many(lh, items, N, NULL, l), 0, "all keys are acquired");
	for (int i = 0; i < N; i++) {
		is(l[i].mode, items[i].mode, "'%s': in its mode", items[i].key);
		is(lh_verify(lh, &l[i]), 0, "'%s': held", items[i].key);
		is(lh_verify_token(other, items[i].key, l[i].token), 0,
		    "'%s': with its own token", items[i].key);
		cmp(l[i].expires_ns - now, >, 29990 * T_NS_PER_MS,
		    "'%s': for the whole ttl", items[i].key);
	}
	ok(l[0].token != 0 && l[1].token != 0 && l[2].token != 0, "tokens");
	is(lh_acquire_many(other, &items[2], 1, NULL, &theirs), 0,
	    "the shared one is shared");
	z = l[1];
	l[1] = theirs;
	is(lh_release_many(lh, l, N), -EPERM, "one that is another's: told");
	is(t_holders(lh, "m"), 0, "what is ours is free");
	is(lh_verify(other, &theirs), 0, "theirs is untouched");
	is(lh_release(other, &theirs), 0, "they release it");
	is(lh_release_many(lh, &z, 1), 0, "and we what is left");
	all_free("all had");
}

static void
one_is_lost_before_release(void)
{
	struct lh_lease l[N];

	is(lh_acquire_many(lh, items, N, NULL, l), 0, "all keys are acquired");
	is(lh_break(other, "z", NULL, 0), 1, "one is broken");
	is(lh_release_many(lh, l, N), -ESTALE, "the release reports the loss");
	all_free("one broken");
	is(lh_acquire_many(lh, items, N, NULL, l), 0, "all keys are acquired");
	is(lh_release_many(lh, l, N), 0, "released");
	is(lh_release_many(lh, l, N), 0, "twice is harmless (G10)");
	all_free("released");
}

static void
busy(void)
{
	struct lh_acquire_opts o = for_what_we_hold(0);
	struct lh_lease l[N] = { 0 }, held = t_hold(other, "z");
	int64_t wait = t_long(150), began, took;

	is(lh_acquire_many(lh, items, N, &o, l), -EAGAIN, "a try: busy");
	ok(strstr(lh_error_detail(), "'z'") != NULL, "by that key: %s",
	    lh_error_detail());
	untouched(l, "a try");
	is(t_holders(lh, "m") + t_holders(lh, "a"), 0, "a try: rolled back");
	o.max_wait_ms = wait;
	began = t_now_ns();
	is(lh_acquire_many(lh, items, N, &o, l), -ETIMEDOUT, "a timed wait");
	took = t_now_ns() - began;
	cmp(took, >=, wait * T_NS_PER_MS, "not before its time (T4)");
	cmp(took, <=, (wait + T4_MS) * T_NS_PER_MS, "nor long after it");
	untouched(l, "timed");
	o.deadline_ns = lh_clock_ns(lh) + wait * T_NS_PER_MS;
	began = t_now_ns();
	is(lh_acquire_many(lh, items, N, &o, l), -ETIMEDOUT, "until then");
	cmp(t_now_ns() - began, >=, (wait - 1) * T_NS_PER_MS, "and not less");
	is(t_waiters(lh, "z"), 0, "nobody waits any more");
	is(lh_release(other, &held), 0, "the holder releases");
	all_free("timed out");
}

/* The first is waited for so long that little is left for the last. */
static void *
release_late(void *arg)
{
	t_sleep_ms(t_long(100));
	is(lh_release(other, arg), 0, "the first is released");
	return NULL;
}

static void
one_time_for_all(void)
{
	struct lh_acquire_opts o = for_what_we_hold(t_long(200));
	struct lh_lease l[N] = { 0 }, first = t_hold(other, "a");
	struct lh_lease last = t_hold(other, "z");
	unsigned long t = t_thread(release_late, &first);
	int64_t began = t_now_ns(), took;

	is(lh_acquire_many(lh, items, N, &o, l), -ETIMEDOUT, "two waits");
	took = t_now_ns() - began;
	t_join(t);
	cmp(took, >=, t_long(200) * T_NS_PER_MS, "one time for both");
	cmp(took, <=, (t_long(200) + T4_MS) * T_NS_PER_MS, "not twice");
	is(lh_release(other, &last), 0, "the last is released");
	all_free("two waits");
}

static void *
throw(void *arg)
{
	(void)arg;
	ok(t_await_waiters(lh, "z", 1), "it waits for the last");
	is(t_holders(lh, "a") + t_holders(lh, "m"), 2, "and holds the others");
	is(lh_cancel(&cancel), 0, "cancelled");
	return NULL;
}

static void
cancelled(void)
{
	struct lh_acquire_opts o = for_what_we_hold(LH_WAIT_FOREVER);
	struct lh_lease l[N] = { 0 }, held = t_hold(other, "z");
	unsigned long t = t_thread(throw, NULL);

	o.cancel = &cancel;
	is(lh_acquire_many(lh, items, N, &o, l), -ECANCELED, "cancelled");
	t_join(t);
	untouched(l, "cancelled");
	is(lh_acquire_many(lh, items, N, &o, l), -ECANCELED, "as before it");
	is(lh_release(other, &held), 0, "the holder releases");
	all_free("cancelled");
}

static void
unknown(void)
{
	static const struct lh_item some[] = {
		{ .key = "a" }, { .key = "new" }, { .key = "m" },
	};
	struct lh_acquire_opts o = t_opts(60000, 0);
	struct lh_lease l[N] = { 0 };

	o.flags = LH_NO_CREATE;
	is(lh_acquire_many(lh, some, N, &o, l), -ENOENT, "an unknown key");
	untouched(l, "unknown");
	all_free("unknown");
}

static void
refused(void)
{
	struct lh_item odd[LH_MANY_MAX + 1];
	struct lh_lease l[LH_MANY_MAX + 1];
	struct lh_acquire_opts o = t_opts(60000, 0);
	char names[LH_MANY_MAX + 1][16];

	memset(odd, 0, sizeof(odd));
	for (int i = 0; i <= LH_MANY_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "r%d", i);
		odd[i].key = names[i];
	}
	is(lh_acquire_many(lh, odd, LH_MANY_MAX + 1, &o, l), -EINVAL,
	    "too many");
	is(lh_acquire_many(lh, odd, 0, &o, l), -EINVAL, "none");
	is(lh_acquire_many(lh, NULL, 2, &o, l), -EINVAL, "NULL");
	is(lh_acquire_many(lh, odd, 2, &o, NULL), -EINVAL, "no leases");
	is(lh_acquire_many(lh, odd, LH_MANY_MAX, &o, l), 0, "as many as go");
	is(lh_release_many(lh, l, LH_MANY_MAX), 0, "and released");
	odd[7].key = "r3";
	is(lh_acquire_many(lh, odd, LH_MANY_MAX, &o, l), -EINVAL, "one twice");
	ok(strstr(lh_error_detail(), "r3") != NULL, "which is said");
	odd[7].mode = LH_SHARED;
	odd[3].mode = LH_SHARED;
	is(lh_acquire_many(lh, odd, 8, &o, l), -EINVAL, "also shared");
	odd[7].key = "";
	is(lh_acquire_many(lh, odd, 8, &o, l), -EINVAL, "an empty one");
	odd[7].key = "r7";
	odd[7].mode = 2;
	is(lh_acquire_many(lh, odd, 8, &o, l), -EINVAL, "an unknown mode");
	odd[7].mode = 0;
	o.ttl_ms = 0;
	is(lh_acquire_many(lh, odd, 8, &o, l), -EINVAL, "options");
	is(lh_release_many(lh, l, 0), -EINVAL, "releasing none");
	is(t_holders(lh, "r0"), 0, "nothing is held");
	is(lh_acquire_many(NULL, odd, 8, NULL, l), -EINVAL, "no table");
}

static void
play(void)
{
	const char *table = t_table();

	lh = t_open(table);
	other = t_open(table);
	all_had();
	one_is_lost_before_release();
	busy();
	one_time_for_all();
	cancelled();
	unknown();
	refused();
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 50, "many one fails rest rolled back");
	return done();
}
