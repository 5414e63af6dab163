/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G2 and G7: two and three members, and nothing fails: the first
 * gets the key, the others get it in turn, readers together, tokens rise, and
 * the holder learns that others wait.
 *
 * Otherwise hosts would overtake each other, or hold a key beside each other.
 */
#include "../tap.h"
#include "support/member.h"

static struct member a, b, c;

static void
writers(void)
{
	struct want x = { 0 }, y = { 0 }, z = { 0 };

	want(&x, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted);
	ok(x.granted == 1, "an idle key is granted");
	want(&y, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.recalled);
	is(x.recalled, CLAIM_EXCLUSIVE, "the holder learns that one waits");
	want(&z, &c, "k", CLAIM_EXCLUSIVE, 0);
	loop_for(50);
	ok(!y.granted && !z.granted, "the others wait");
	claim_anchor(x.c);
	UNTIL(x.anchored);
	ok(x.anchored && x.revision > 0, "it may draw another revision");
	want_leave(&x);
	is(x.left, 1, "it leaves");
	UNTIL(y.granted);
	ok(y.granted && !z.granted, "the next has it");
	UNTIL(y.recalled);
	is(y.recalled, CLAIM_EXCLUSIVE, "and learns of the third");
	cmp(y.revision, >, x.revision, "tokens rise, above anchors");
	want_leave(&y);
	UNTIL(z.granted);
	cmp(z.revision, >, y.revision, "tokens rise");
	loop_for(20);
	is(z.recalled, CLAIM_NONE, "nobody is behind the last");
	want_leave(&z);
}

static void
readers(void)
{
	struct want x = { 0 }, y = { 0 }, w = { 0 }, z = { 0 };

	want(&x, &a, "k", CLAIM_SHARED, 0);
	want(&y, &b, "k", CLAIM_SHARED, 0);
	UNTIL(x.granted && y.granted);
	ok(x.granted && y.granted, "readers have it together");
	loop_for(20);
	ok(!x.recalled && !y.recalled, "and do not disturb each other");
	want(&w, &c, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.recalled && y.recalled);
	ok(x.recalled && y.recalled && !w.granted, "a writer does");
	want(&z, &a, "k", CLAIM_SHARED, 0);
	loop_for(50);
	ok(!z.granted, "a reader behind it waits");
	want_leave(&y);
	loop_for(20);
	ok(!w.granted, "one of two readers leaves: not yet");
	want_leave(&x);
	UNTIL(w.granted);
	ok(w.granted && !z.granted, "both: the writer has it");
	cmp(w.revision, >, x.revision, "tokens rise");
	UNTIL(w.recalled);
	is(w.recalled, CLAIM_SHARED, "and learns that a reader waits");
	want_leave(&w);
	UNTIL(z.granted);
	cmp(z.revision, >, w.revision, "tokens rise");
	want_leave(&z);
}

static void
tries(void)
{
	struct want x = { 0 }, y = { 0 };

	want(&x, &a, "a key/with%\n", CLAIM_EXCLUSIVE, CLAIM_TRY);
	UNTIL(x.granted);
	ok(x.granted, "a try of an idle key; its name is odd");
	want(&y, &b, "a key/with%\n", CLAIM_SHARED, CLAIM_TRY);
	UNTIL(y.busy);
	ok(y.busy && strstr(y.why, "host0") != NULL, "busy: %s", y.why);
	loop_for(20);
	is(x.recalled, CLAIM_NONE, "a try does not queue");
	want_leave(&x);
	want(&y, &b, "k", CLAIM_SHARED, CLAIM_TRY);
	want(&x, &a, "k", CLAIM_SHARED, CLAIM_TRY);
	UNTIL(x.granted && y.granted);
	ok(x.granted && y.granted, "readers try together");
	want_leave(&x);
	want(&x, &a, "k", CLAIM_EXCLUSIVE, CLAIM_TRY);
	UNTIL(x.busy);
	ok(x.busy, "not a writer");
	want_leave(&y);
}

static unsigned looks;

static void
on_look(int error, const char *why, const struct recipe_holder *h, size_t n,
    void *arg)
{
	(void)why;
	(void)arg;
	is(error, 0, "somebody looks at a queue");
	is((int)n, 3, "three are there");
	ok(n == 3 && h[0].holds && h[0].ours && h[0].mode == CLAIM_SHARED,
	    "a reader has it");
	ok(n == 3 && !h[1].holds && h[1].mode == CLAIM_EXCLUSIVE &&
	    h[1].host.len == 5 && memcmp(h[1].host.p, "host1", 5) == 0,
	    "a writer of host1 waits");
	ok(n == 3 && !h[2].holds && h[2].since > h[1].since,
	    "a reader behind it");
	looks++;
}

static void
looking(void)
{
	struct want x = { 0 }, y = { 0 }, z = { 0 };
	const struct kv_bytes k = { (const uint8_t *)"k", 1 };

	want(&x, &a, "k", CLAIM_SHARED, 0);
	UNTIL(x.granted);
	want(&y, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.recalled);
	want(&z, &c, "k", CLAIM_SHARED, 0);
	loop_for(30);
	is(recipe_look(a.r, k, on_look, NULL), 0, "look");
	UNTIL(looks);
	want_leave(&y);
	want_leave(&z);
	want_leave(&x);
}

int
main(void)
{
	struct recipe_stats s;

	member_ttl_ms = 20000;	/* none is over before we have our turn */
	member_begin();
	member_up(&a, 0);
	member_up(&b, 1);
	member_up(&c, 2);
	is(a.settled, 1, "a session");
	cmp(a.until_ns, >, member_now_ns(), "that lives");
	cmp(a.until_ns, <, member_now_ns() + 20000000000u,
	    "for less than its TTL");
	writers();
	readers();
	tries();
	looking();
	is((int)count_keys("test/q/"), 0, "nothing is left in the queues");
	recipe_stats(a.r, &s);
	is((int)s.claims, 0, "nor of claims");
	is((int)s.lost, 0, "no session was lost");
	recipe_retire(a.r);
	recipe_retire(b.r);
	recipe_retire(c.r);
	UNTIL(a.retired && b.retired && c.retired);
	is((int)fake_store_keys(member_store), 0, "nothing is left at all");
	member_close(&a);
	member_close(&b);
	member_close(&c);
	member_end();
	return done();
}
