/* SPDX-License-Identifier: MIT */
/* test: slow 11 */
/*
 * Guarantee G1: in a call for several keys, those that are won stay held, over
 * many ttls, while the call waits for the rest.  It keeps its place in that
 * queue; and when it returns, all leases have a whole ttl left.
 *
 * Otherwise the first keys would expire before the last is acquired.
 */
#include <errno.h>
#include "support/child.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

static struct lh *lh, *other;
static struct t_event held, watched;

static const struct lh_item items[] = {
	{ .key = "c" }, { .key = "b", .mode = LH_SHARED }, { .key = "a" },
};

/* One that comes after it, and would be first if it lost its place. */
static void *
come_later(void *arg)
{
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	struct lh_lease l;

	is(lh_acquire(other, "c", &o, &l), 0, "who came later has it");
	*(int64_t *)arg = t_acquired_ns(other, &l);
	is(lh_release(other, &l), 0, "and releases");
	return NULL;
}

static void *
watch(void *arg)
{
	int64_t until, later = 0;
	unsigned long t;
	int lost = 0;

	(void)arg;
	ok(t_await_waiters(lh, "c", 1), "it waits for the last");
	t = t_thread(come_later, &later);
	ok(t_await_waiters(lh, "c", 2), "another one behind it");
	until = t_now_ns() + t_long(3500) * T_NS_PER_MS;
	while (t_now_ns() < until) {
		lost += t_holders(lh, "a") != 1 || t_holders(lh, "b") != 1;
		t_sleep_ms(2);
	}
	is(lost, 0, "the others were held all the time");
	t_post(&watched);
	t_join(t);
	return NULL;
}

static void *
hold(void *arg)
{
	struct lh_acquire_opts o = t_opts(60000, 0);
	struct lh_lease l;

	(void)arg;
	is(lh_acquire(other, "c", &o, &l), 0, "somebody holds the last");
	t_post(&held);
	ok(t_await(&watched, 1, T_HANG_MS), "until enough was seen");
	is(lh_release(other, &l), 0, "and releases");
	return NULL;
}

static void
play(void)
{
	const char *table = t_table();
	struct lh_acquire_opts o = t_opts(t_long(1500), T_HANG_MS);
	unsigned long holder, watcher;
	struct lh_lease l[3];
	int64_t now;
	struct lh_stats st = { .size = sizeof(st) };

	lh = t_open(table);
	other = t_open(table);
	holder = t_thread(hold, NULL);
	ok(t_await(&held, 1, T_HANG_MS), "held");
	watcher = t_thread(watch, NULL);
	is(lh_acquire_many(lh, items, 3, &o, l), 0, "all keys are acquired");
	now = lh_clock_ns(lh);
	for (int i = 0; i < 3; i++) {
		cmp(l[i].expires_ns, >, now, "'%s' has not expired",
		    items[i].key);
		cmp(l[i].expires_ns - l[0].expires_ns, <, t_long(500) *
		    T_NS_PER_MS, "'%s': about as long as the rest",
		    items[i].key);
		is(lh_verify(lh, &l[i]), 0, "'%s' is held", items[i].key);
	}
	is(t_waiters(lh, "c"), 1, "who came later is behind it still");
	is(lh_release_many(lh, l, 3), 0, "released");
	t_join(watcher);
	t_join(holder);
	is(lh_stats(lh, &st), 0, "counters");
	cmp(st.counters.waits, >=, 2, "two waits");
	cmp(st.counters.waits, <=, 3, "and not one for every renewal");
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 30, "many renewed while waiting");
	return done();
}
