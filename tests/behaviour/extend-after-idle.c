/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G3: the deadline of an extension counts from now, also in a thread
 * that has not read the clock for longer than the ttl.  The thread did nothing
 * before, a slow acquire, an acquire with the same or another ttl, or a long
 * extension; and many threads may extend the same lease.  A release of an
 * expired lease leaves the note for the next holder.
 *
 * Otherwise an extension would cost a healthy lease: the fast path once counted
 * the deadline from the last clock tick that the thread had seen.
 */
#include <errno.h>
#include "support/child.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

#define TICK_MS 15	/* a coarse clock is behind by less */

static const char *table;

static void
extend_after_a_wait(struct lh *a, struct lh *b)
{
	struct lh_lease l, other;
	int64_t from_ns;

	is(t_acquire(a, "x", 100, 0, &l), 0, "the thread saw the clock");
	is(lh_release(a, &l), 0, "released");
	is(t_acquire(b, "k", 130, 0, &other), 0, "somebody else has the key");
	is(t_acquire(a, "k", 100, 5000, &l), 0, "and runs out of time");
	from_ns = t_now_ns();
	is(lh_extend(a, &l, 100), 0, "extended right after the grant");
	cmp(l.expires_ns, >=, from_ns + (100 - TICK_MS) * T_NS_PER_MS,
	    "the deadline counts from now");
	is(lh_release(a, &l), 0, "and is held until released");
}

/* The calls of this thread before the extend. */
struct past {
	bool warm;		/* it has acquired something before */
	bool made;		/* the key is there: that is the slow way */
	int ttl_ms, pause_ms, extend_ms;
};

/* In a thread of its own, which remembers nothing, by a new attachment. */
static void *
extend_in_new_thread(void *arg)
{
	const struct past *p = arg;
	struct lh *lh = t_open(table);
	struct lh_lease l;
	int64_t from_ns;
	char key[32];

	snprintf(key, sizeof(key), "%d.%d.%d", p->ttl_ms, p->pause_ms,
	    p->extend_ms);
	if (p->made)
		is(lh_key_create(lh, key), 0, "the key is there");
	if (p->warm) {
		is(t_acquire(lh, "warm", t_long(p->ttl_ms), 0, &l), 0, "warm");
		is(lh_release(lh, &l), 0, "and free");
	}
	is(t_acquire(lh, key, t_long(p->ttl_ms), 0, &l), 0,
	    "%s acquire with %d ms", p->warm ? "a later" : "the first",
	    p->ttl_ms);
	t_sleep_ms(t_long(p->pause_ms));
	from_ns = t_now_ns();
	is(lh_extend(lh, &l, t_long(p->extend_ms)), 0,
	    "%d ms later, extended by %d", p->pause_ms, p->extend_ms);
	cmp(l.expires_ns - from_ns, >=,
	    (t_long(p->extend_ms) - TICK_MS) * T_NS_PER_MS, "from then on");
	cmp(l.expires_ns - t_now_ns(), <=,
	    (t_long(p->extend_ms) + TICK_MS) * T_NS_PER_MS,
	    "and not from later");
	is(lh_verify(lh, &l), 0, "it is held");
	is(lh_release(lh, &l), 0, "and released");
	is(lh_close(lh), 0, "closed");
	return NULL;
}

/* Much longer, and some time after that as before. */
static void
longer_then_shorter(struct lh *a)
{
	struct lh_lease l;
	int64_t ttl_ms = t_long(150);

	is(t_acquire(a, "warm", ttl_ms, 0, &l), 0, "an acquire");
	is(lh_release(a, &l), 0, "a release");
	is(t_acquire(a, "k", ttl_ms, 0, &l), 0, "an acquire");
	is(lh_extend(a, &l, 60000), 0, "extended by a minute");
	t_sleep_ms(2 * ttl_ms);
	is(lh_verify(a, &l), 0, "after two ttls it is held");
	is(lh_extend(a, &l, ttl_ms), 0, "then extended by the ttl");
	is(lh_verify(a, &l), 0, "it is held");
	cmp(l.expires_ns, >=, t_now_ns() + ttl_ms / 2 * T_NS_PER_MS,
	    "for a ttl");
	is(lh_release(a, &l), 0, "and released");
}

struct beat {
	struct lh *lh;
	struct lh_lease lease;
	int64_t ttl_ms;
	_Atomic bool stop;
	_Atomic int failed;
};

static void *
beat(void *arg)
{
	struct beat *b = arg;
	struct lh_lease copy = b->lease;

	while (!b->stop) {
		t_sleep_ms(b->ttl_ms / 4);
		b->failed += lh_extend(b->lh, &copy, b->ttl_ms) != 0;
	}
	return NULL;
}

/* Others keep it alive; the one who acquired it has not looked at it since. */
static void
beaten_by_others(struct lh *a)
{
	struct beat b = { .lh = a, .ttl_ms = t_long(160) };
	unsigned long threads[2];
	struct lh_lease l;

	is(t_acquire(a, "warm", b.ttl_ms, 0, &l), 0, "an acquire");
	is(lh_release(a, &l), 0, "a release");
	is(t_acquire(a, "k", b.ttl_ms, 0, &l), 0, "an acquire");
	b.lease = l;
	for (int i = 0; i < 2; i++)
		threads[i] = t_thread(beat, &b);
	t_sleep_ms(5 * b.ttl_ms / 2);
	is(lh_verify(a, &l), 0, "kept alive by two others");
	for (int i = 0; i < 3; i++)
		is(lh_extend(a, &l, b.ttl_ms), 0, "extended by who has it");
	is(lh_verify(a, &l), 0, "it is held");
	b.stop = true;
	for (int i = 0; i < 2; i++)
		t_join(threads[i]);
	is(b.failed, 0, "the other threads' extends never failed");
	is(lh_release(a, &l), 0, "and released");
}

static void
late_release(struct lh *a, struct lh *b)
{
	struct lh_lease l, next;

	is(t_acquire(a, "n", 100, 0, &l), 0, "held for 100 ms");
	t_sleep_ms(150);
	is(lh_extend(a, &l, 100), -ESTALE, "too late to extend");
	is(lh_release(a, &l), -ESTALE, "and to release");
	is(t_acquire(b, "n", 1000, 0, &next), 0, "the next one");
	is(next.notes, LH_NOTE_PREVIOUS_EXPIRED, "has the note");
	is(lh_release(b, &next), 0, "released");
}

static void
play(void)
{
	static const struct past pasts[] = {
		{ false, false, 30000, 0, 30000 },
		{ false, false, 30000, 0, 600000 },
		{ false, true, 30000, 0, 30000 },
		{ false, true, 30000, 20, 500 },
		{ true, false, 30000, 60, 500 },
		{ true, false, 30000, 60, 30000 },
		{ true, true, 30000, 60, 1000 },
		{ false, false, 50, 0, 30000 },
		{ false, true, 50, 10, 30000 },
	};
	struct lh *a, *b;

	table = t_table();
	a = t_open(table);
	b = t_open(table);
	for (int i = 0; i < 3; i++)
		extend_after_a_wait(a, b);
	for (size_t i = 0; i < sizeof(pasts) / sizeof(pasts[0]); i++)
		t_join(t_thread(extend_in_new_thread,
		    (void *)(uintptr_t)&pasts[i]));
	longer_then_shorter(a);
	beaten_by_others(a);
	late_release(a, b);
	t_close(b);
	t_close(a);
}

int
main(void)
{
	t_part(play, 40, "extend after idle");
	return done();
}
