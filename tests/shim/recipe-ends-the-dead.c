/* SPDX-License-Identifier: MIT */
/* test: slow 7 */
/*
 * A member dies, and one is cut off: others get its keys, not before its D, and
 * nothing of it stays in the store.  It learns of that for certain when it is
 * back.
 *
 * Otherwise a key of a dead host would never be free, or would be granted while
 * its holder still believes in it.
 */
#include "../tap.h"
#include "support/member.h"

static struct member a, b;

static void
dead(void)
{
	struct want x = { 0 }, y = { 0 }, other = { 0 };
	uint64_t until, now, stopped;

	member_up(&a, 0);
	member_up(&b, 1);
	want(&x, &a, "k", CLAIM_EXCLUSIVE, 0);
	want(&other, &a, "another", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted && other.granted);
	want(&y, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.recalled);
	until = a.until_ns;
	member_close(&a);		/* it says nothing */
	stopped = member_stopped_ns;
	UNTIL(y.granted);
	now = member_now_ns();
	stopped = member_stopped_ns - stopped;
	ok(y.granted, "a dead member's key is granted to who waits");
	cmp(now, >, until, "not before its D");
	cmp(now, <, until + stopped + 2000000000u,
	    "and not long after it (%jd ms)",
	    (intmax_t)(now - until) / 1000000);
	cmp(y.revision, >, x.revision, "tokens rise");
	UNTIL(count_keys("test/q/") == 1);
	is((int)count_keys("test/q/"), 1, "its other keys are gone as well");
	is((int)count_keys("test/s/"), 1, "and its session");
	want_leave(&y);
}

static void
cut_off(void)
{
	struct want x = { 0 }, y = { 0 }, w = { 0 }, t = { 0 };
	uint64_t until, now;
	unsigned ups, settled;

	member_up(&a, 0);
	want(&x, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted);
	want(&y, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.recalled);
	fake_cut(a.e, true);
	UNTIL(a.store == KV_AWAY);
	is(a.store, KV_AWAY, "cut off: that is reported (%s)", a.why);
	until = a.until_ns;
	want(&w, &a, "w", CLAIM_EXCLUSIVE, 0);
	want(&t, &a, "t", CLAIM_EXCLUSIVE, CLAIM_TRY);
	UNTIL(t.failed);
	is(t.error, EHOSTUNREACH, "a try fails (%s)", t.why);
	UNTIL(y.granted);
	now = member_now_ns();
	ok(y.granted && now > until, "the other is granted it after D");
	is((int)a.losts, 0, "who is cut off cannot know");
	ok(x.c != NULL && !x.failed, "nor is its claim reported lost");
	ups = a.ups;
	settled = a.settled;
	fake_cut(a.e, false);
	UNTIL(a.losts && a.settled > settled);
	is((int)a.losts, 1, "but when it is back (%s)", a.why);
	is(x.error, ESTALE, "with its claim (%s)", x.why);
	is(w.error, ESTALE, "and those that waited");
	is((int)a.ups, (int)ups + 1, "and has a new session");
	cmp(a.until_ns, >, member_now_ns(), "that lives");
	want(&w, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(y.recalled);
	want_leave(&y);
	UNTIL(w.granted);
	cmp(w.revision, >, y.revision, "and may queue again");
	want_leave(&w);
}

/* D passes, but nobody took anything. */
static void
alone(void)
{
	struct want x = { 0 };
	uint64_t until;

	member_close(&b);
	want(&x, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted);
	until = a.until_ns;
	fake_cut(a.e, true);
	UNTIL(member_now_ns() > until + 300000000u);
	fake_cut(a.e, false);
	UNTIL(a.until_ns > until);
	cmp(a.until_ns, >, member_now_ns(),
	    "a session that nobody ended goes on after its D");
	ok(x.c != NULL && !x.failed, "with its claims");
	UNTIL(count_keys("test/s/") == 1);
	want_leave(&x);
}

/* While hosts are given another TTL, one after another. */
static void
of_another_ttl(void)
{
	struct member shorter = { 0 };
	struct want x = { 0 }, y = { 0 };
	uint64_t until, stopped;

	member_close(&a);
	member_ttl_ms = 60000;
	member_up(&a, 0);
	member_up(&b, 1);
	/* a's session of before is gone */
	UNTIL(count_keys("test/s/") == 2);
	loop_for(1500);		/* and no timer of it */
	member_ttl_ms = 1000;
	member_up(&shorter, 2);
	want(&x, &shorter, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted);
	want(&y, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.recalled);
	until = shorter.until_ns;
	member_close(&shorter);
	stopped = member_stopped_ns;
	UNTIL(y.granted);
	stopped = member_stopped_ns - stopped;
	cmp(member_now_ns(), <, until + stopped + 2000000000u,
	    "who waits for one of a longer TTL sees a shorter one's end");
	want_leave(&y);
	member_close(&b);
}

int
main(void)
{
	member_begin();
	dead();
	cut_off();
	alone();
	of_another_ttl();
	is((int)count_keys("test/q/"), 0, "nothing is left in the queues");
	member_close(&a);
	member_end();
	return done();
}
