/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: many keys: 64 at once, all or none; in opposite orders without
 * a deadlock; some left while the others wait; a thousand claims of one member;
 * keys that somebody deletes by hand.
 *
 * Otherwise hosts that want the same keys would wait for each other for ever.
 */
#include "../tap.h"
#include "support/member.h"

#define MANY RECIPE_CLAIMS_MAX
#define THOUSAND 1000

static struct member a, b;
static char name[THOUSAND][16];
static const char *names[THOUSAND], *backward[MANY];
static struct want x[THOUSAND], y[MANY], one;

static size_t
granted(const struct want *w, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += w[i].granted;
	return sum;
}

static size_t
gone(const struct want *w, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += w[i].c == NULL;
	return sum;
}

static void
leave_all(struct want *w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (w[i].c != NULL)
			claim_leave(w[i].c);
	UNTIL(gone(w, n) == n);
}

static void
at_once(void)
{
	want(&one, &b, names[40], CLAIM_EXCLUSIVE, 0);
	UNTIL(one.granted);
	want_many(x, MANY, &a, names, CLAIM_EXCLUSIVE, CLAIM_TRY);
	UNTIL(gone(x, MANY) == MANY);
	is((int)x[0].busy, 1, "one of 64 is held: none is granted (%s)",
	    x[0].why);
	is((int)count_keys("test/q/"), 1, "and no key of theirs is there");
	want_many(x, MANY, &a, names, CLAIM_EXCLUSIVE, 0);
	UNTIL(one.recalled && granted(x, MANY) == MANY - 1);
	is((int)granted(x, MANY), MANY - 1, "the others do not wait for it");
	is(x[0].revision, x[MANY - 1].revision, "they have one revision");
	want_many(y, MANY, &b, backward, CLAIM_SHARED, 0);
	loop_for(20);
	want_leave(&one);
	UNTIL(granted(x, MANY) == MANY);
	is((int)granted(x, MANY), MANY, "and it follows");
	cmp(x[40].revision, >, x[0].revision, "by a later one");
	is((int)granted(y, MANY), 0, "those behind them wait");
	claim_leave(y[5].c);
	UNTIL(y[5].left);
	is((int)y[5].left, 1, "one of them leaves");
	for (int i = 0; i < MANY - 1; i++)
		want_leave(&x[i]);
	UNTIL(granted(y, MANY) == MANY - 2);
	is((int)granted(y, MANY), MANY - 2, "63 of 64 are given back: they "
	    "have those that they want still");
	want_leave(&x[MANY - 1]);
	UNTIL(granted(y, MANY) == MANY - 1);
	is((int)granted(y, MANY), MANY - 1, "all: the others have them");
	cmp(y[0].revision, >, x[0].revision, "tokens rise");
	leave_all(y, MANY);
	want_many(x, MANY, &a, names, CLAIM_EXCLUSIVE, CLAIM_TRY);
	UNTIL(granted(x, MANY) == MANY);
	is((int)granted(x, MANY), MANY, "a try of 64 idle ones");
	leave_all(x, MANY);
}

static void
thousand(void)
{
	struct recipe_stats s, t;

	recipe_stats(a.r, &s);
	for (int i = 0; i < THOUSAND; i++)
		want(&x[i], &a, names[i], CLAIM_EXCLUSIVE, 0);
	UNTIL(granted(x, THOUSAND) == THOUSAND);
	is((int)granted(x, THOUSAND), THOUSAND, "a thousand claims");
	want_many(y, MANY, &b, names, CLAIM_EXCLUSIVE, 0);
	UNTIL(x[63].recalled);
	leave_all(x, THOUSAND);
	UNTIL(granted(y, MANY) == MANY);
	is((int)granted(y, MANY), MANY, "some of them were waited for");
	leave_all(y, MANY);
	recipe_stats(a.r, &t);
	cmp(t.calls - s.calls, <, THOUSAND + 100, "deleted by the hundred");
	is((int)t.claims, 0, "none is left");
}

static void
by_hand(void)
{
	struct want w = { 0 }, v = { 0 };

	want(&w, &a, "h", CLAIM_EXCLUSIVE, 0);
	UNTIL(w.granted);
	want(&v, &b, "h", CLAIM_EXCLUSIVE, 0);
	UNTIL(w.recalled);
	session_delete(&b);
	UNTIL(v.failed && b.settled == 2);
	is(v.error, ESTALE, "a session deleted by hand is lost");
	UNTIL(count_keys("test/q/h/") == 1);
	is((int)count_keys("test/q/h/"), 1, "and its keys are swept");
	want_leave(&w);
}

static struct want vanishing;
static char vanishing_key[300];

static void
copy_key(const struct kv_pair *p, void *arg)
{
	(void)arg;
	if (p->key.len > 9 && memcmp(p->key.p, "test/q/h/", 9) == 0)
		(void)snprintf(vanishing_key, sizeof(vanishing_key), "%.*s",
		    (int)p->key.len, (const char *)p->key.p);
}

static void
vanished(void)
{
	want(&vanishing, &a, "h", CLAIM_SHARED, 0);
	UNTIL(vanishing.granted);
	fake_store_each(member_store, copy_key, NULL);
	fake_store_delete(member_store, (struct kv_bytes){
	    (uint8_t *)vanishing_key, strlen(vanishing_key) });
	UNTIL(vanishing.failed);
	is(vanishing.error, ENOENT, "a key deleted by hand (%s)",
	    vanishing.why);
}

int
main(void)
{
	for (int i = 0; i < THOUSAND; i++) {
		(void)snprintf(name[i], sizeof(name[i]), "key %d", i);
		names[i] = name[i];
	}
	for (int i = 0; i < MANY; i++)
		backward[i] = name[MANY - 1 - i];
	member_ttl_ms = 8000;	/* none is over before we have our turn */
	member_begin();
	member_up(&a, 0);
	member_up(&b, 1);
	at_once();
	thousand();
	vanished();
	by_hand();
	is((int)count_keys("test/q/"), 0, "nothing is left in the queues");
	is((int)a.losts, 0, "one session was not lost");
	member_close(&a);
	member_close(&b);
	member_end();
	return done();
}
