/* SPDX-License-Identifier: MIT */
/*
 * A member is closed and opened again with its old session.  If the session
 * still lives, it goes on with the keys that are wanted, and the others are
 * left; if not, that is reported before a new session begins.
 *
 * Otherwise a restarted shim would lose the keys of its host, or keep keys that
 * nobody wants.
 */
#include "../tap.h"
#include "support/member.h"

static struct member a, b;

static void
again(const struct recipe_session *s, struct want *keep, size_t n)
{
	unsigned settled = a.settled;

	a.keep = keep;
	a.n_keep = n;
	a.n_kept = 0;
	member_open_with(&a, 0, s, NULL);
	UNTIL(a.settled > settled);
}

static void
adopted(void)
{
	struct want w[3] = { 0 }, waits = { 0 }, kept[3] = { 0 }, y = { 0 };
	const char *const names[] = { "one", "two", "t/%hree" };
	struct recipe_session s;
	uint64_t until;

	want_many(w, 3, &a, names, CLAIM_EXCLUSIVE, 0);
	UNTIL(w[2].granted);
	want(&y, &b, "other", CLAIM_EXCLUSIVE, 0);
	UNTIL(y.granted);
	want(&waits, &a, "other", CLAIM_SHARED, 0);
	UNTIL(y.recalled);
	s = a.session;
	until = a.until_ns;
	member_close(&a);
	again(&s, kept, 3);
	is((int)a.adoptions, 1, "the session is adopted");
	is((int)a.losts, 0, "and not lost");
	ok(a.session.name == s.name && a.session.create_revision ==
	    s.create_revision, "it is the same one");
	cmp(a.until_ns, >, until, "D has moved");
	is((int)a.founds, 4, "four keys are found");
	is((int)a.n_kept, 3, "three of them are first");
	ok(kept[0].c != NULL && kept[1].c != NULL && kept[2].c != NULL,
	    "and kept");
	is(kept[0].revision, w[0].revision, "with their tokens");
	ok(strcmp(kept[0].name, "t/%hree") == 0 ||
	    strcmp(kept[1].name, "t/%hree") == 0 ||
	    strcmp(kept[2].name, "t/%hree") == 0, "and names");
	UNTIL(count_keys("test/q/other/") == 1);
	is((int)count_keys("test/q/other/"), 1,
	    "the one that waited is taken back");
	want_leave(&y);
	for (int i = 0; i < 3; i++) {
		want(&y, &b, kept[i].name, CLAIM_SHARED, 0);
		UNTIL(kept[i].recalled);
		is(kept[i].recalled, CLAIM_SHARED, "what is kept is recalled");
		want_leave(&kept[i]);
		UNTIL(y.granted);
		cmp(y.revision, >, kept[i].revision, "and given back");
		want_leave(&y);
	}
}

/* A host that waits behind it is reported, and nothing needs to be kept. */
static void
not_kept(void)
{
	struct want x = { 0 }, y = { 0 }, kept = { 0 };
	struct recipe_session s;

	want(&x, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted);
	want(&y, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.recalled);
	s = a.session;
	member_close(&a);
	again(&s, &kept, 1);
	UNTIL(kept.recalled);
	is(kept.recalled, CLAIM_EXCLUSIVE, "recalled at once when adopted");
	s = a.session;
	member_close(&a);
	again(&s, NULL, 0);
	UNTIL(y.granted);
	cmp(y.revision, >, x.revision, "what nobody keeps is left");
	want_leave(&y);
}

static void
dead(void)
{
	struct recipe_session s = a.session;
	unsigned ups = a.ups;

	member_close(&a);
	UNTIL(count_keys("test/s/") == 1);
	again(&s, NULL, 0);
	is((int)a.losts, 1, "a dead session is not adopted (%s)", a.why);
	is((int)a.ups, (int)ups + 1, "there is a new one");
	ok(a.session.name != s.name, "of another name");
}

/* The options have another TTL now: the session keeps its own. */
static void
other_ttl(void)
{
	struct recipe_session s = a.session;
	struct want x = { 0 };

	member_close(&a);
	member_ttl_ms = 60000;
	again(&s, NULL, 0);
	cmp(a.until_ns, <, member_now_ns() + 1000000000u,
	    "an adopted session keeps its TTL");
	member_close(&b);
	loop_for(1500);
	want(&x, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted);
	ok(x.granted && a.losts == 1, "and lives by it");
	want_leave(&x);
}

int
main(void)
{
	member_begin();
	member_up(&a, 0);
	member_up(&b, 1);
	adopted();
	not_kept();
	dead();
	other_ttl();
	is((int)count_keys("test/q/"), 0, "nothing is left in the queues");
	member_close(&a);
	member_end();
	return done();
}
