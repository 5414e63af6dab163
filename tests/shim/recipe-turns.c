/* SPDX-License-Identifier: MIT */
/* test: slow 5 */
/*
 * A waiting claim is granted by the watch alone, at the revision at which the
 * last claim before it was deleted.  Is not where that does not follow: a
 * change was missed, its own key is gone, too many were before it, or readers
 * are.
 *
 * Otherwise a host would take a key with a wrong token, or before its turn.
 */
#include <errno.h>
#include "../tap.h"
#include "support/member.h"

static struct member a, b, c;
static int drop_from = -1;	/* host that misses a change */
static bool b_asks_in_vain;

static int
lag(unsigned host, void *arg)
{
	(void)arg;
	return (int)host == drop_from ? FAKE_DROP : 0;
}

static enum fake_mishap
lose(unsigned host, uint64_t call, void *arg)
{
	(void)call;
	(void)arg;
	return host == b.number && b_asks_in_vain ? FAKE_LOST_REQUEST :
	    FAKE_NONE;
}

static struct recipe_stats
stats_of(const struct member *m)
{
	struct recipe_stats s;

	recipe_stats(m->r, &s);
	return s;
}

/* The one ahead leaves; at what revision, in a store where nothing else is
 * done. */
static int64_t
leave_at(struct want *w)
{
	int64_t at;

	want_leave(w);
	at = fake_store_revision(member_store);
	loop_for(20);
	return at;
}

static void
one_waits(void)
{
	struct want x = { 0 }, y = { 0 }, z = { 0 };
	struct recipe_stats before, after;
	int64_t at;

	want_queued(&x, &a, "k", CLAIM_EXCLUSIVE);
	want_queued(&y, &b, "k", CLAIM_EXCLUSIVE);
	want_queued(&z, &c, "k", CLAIM_EXCLUSIVE);
	claim_anchor(x.c);
	UNTIL(x.anchored);
	before = stats_of(&b);
	claim_leave(x.c);
	UNTIL(y.recalled);
	after = stats_of(&b);
	is((int)(after.turns - before.turns), 1, "granted by the watch");
	is((int)(after.calls - before.calls), 0, "without asking the store");
	is((int)(after.lists - before.lists), 0, "without a look at all");
	cmp(y.revision, >, x.revision, "its token is above all before");
	is(y.recalled, CLAIM_EXCLUSIVE, "the newcomer is reported");
	claim_anchor(y.c);
	UNTIL(y.anchored);
	at = leave_at(&y);
	is(z.revision, at, "its token is the deletion's revision");
	cmp(z.revision, >, y.revision, "and above an anchor");
	want_leave(&z);
}

static void
one_between_leaves(void)
{
	struct want x = { 0 }, y = { 0 }, z = { 0 };
	uint64_t calls;
	int64_t at;

	want_queued(&x, &a, "k", CLAIM_EXCLUSIVE);
	want_queued(&y, &b, "k", CLAIM_EXCLUSIVE);
	want_queued(&z, &c, "k", CLAIM_EXCLUSIVE);
	calls = stats_of(&c).calls;
	want_leave(&y);
	loop_for(20);
	is(z.granted, 0, "one of two ahead leaves: not its turn");
	at = leave_at(&x);
	is(z.revision, at, "the other: at once");
	is((int)(stats_of(&c).calls - calls), 0, "without asking");
	want_leave(&z);
}

/* Behind, and gone again: nobody is there to be recalled for. */
static void
one_behind_gives_up(void)
{
	struct want x = { 0 }, y = { 0 }, z = { 0 };

	want_queued(&x, &a, "k", CLAIM_EXCLUSIVE);
	want_queued(&y, &b, "k", CLAIM_EXCLUSIVE);
	want_queued(&z, &c, "k", CLAIM_EXCLUSIVE);
	want_leave(&z);
	loop_for(20);
	want_leave(&x);
	UNTIL(y.granted);
	loop_for(20);
	is(y.recalled, CLAIM_NONE, "not recalled for who gave up");
	want_leave(&y);
}

static void
many_are_ahead(void)
{
	struct want x[9] = { { 0 } }, z = { 0 };
	uint64_t turns;

	for (int i = 0; i < 9; i++)
		want_queued(&x[i], i % 2 ? &a : &b, "k", CLAIM_EXCLUSIVE);
	want_queued(&z, &c, "k", CLAIM_EXCLUSIVE);
	turns = stats_of(&c).turns;
	want_leave(&x[8]);
	loop_for(30);
	is(z.granted, 0, "the newest of many leaves: not its turn");
	for (int i = 0; i < 8; i++) {
		UNTIL(x[i].granted);
		is(z.granted, 0, "another has it");
		want_leave(&x[i]);
	}
	UNTIL(z.granted);
	is(z.granted, 1, "all of them: it is");
	cmp(z.revision, >, x[7].revision, "tokens rise");
	cmp(stats_of(&c).turns - turns, <=, 1u, "once at the most");
	want_leave(&z);
}

static void
readers_confirm(void)
{
	struct want x = { 0 }, y = { 0 }, z = { 0 };
	uint64_t turns;
	int64_t at;

	want_queued(&x, &a, "k", CLAIM_EXCLUSIVE);
	want_queued(&y, &b, "k", CLAIM_SHARED);
	want_queued(&z, &c, "k", CLAIM_SHARED);
	turns = stats_of(&b).turns + stats_of(&c).turns;
	want_leave(&x);
	UNTIL(y.granted && z.granted);
	cmp(y.revision, !=, z.revision, "two readers have different tokens");
	is((int)(stats_of(&b).turns + stats_of(&c).turns - turns), 0,
	    "as they ask the store");
	want_queued(&x, &a, "k", CLAIM_EXCLUSIVE);
	want_leave(&y);
	loop_for(20);
	is(x.granted, 0, "one of two readers leaves: no turn for a writer");
	at = leave_at(&z);
	is(x.revision, at, "the other: at once");
	want_leave(&x);
}

static void
several_at_once(void)
{
	static const char *const names[] = { "m/1", "m/2" };
	struct want x = { 0 }, y = { 0 }, z[2] = { { 0 } };
	uint64_t calls;
	int64_t at, before;

	want_queued(&x, &a, "m/1", CLAIM_EXCLUSIVE);
	want_queued(&y, &b, "m/2", CLAIM_EXCLUSIVE);
	want_many(z, 2, &c, names, CLAIM_EXCLUSIVE, 0);
	UNTIL(x.recalled && y.recalled);
	loop_for(20);
	calls = stats_of(&c).calls;
	before = leave_at(&y);
	is(z[1].revision, before, "one of two keys is free: at its deletion");
	is(z[0].granted, 0, "the other one is not");
	at = leave_at(&x);
	is(z[0].revision, at, "then it is, at its own");
	is((int)(stats_of(&c).calls - calls), 0, "without asking");
	want_leave(&z[0]);
	want_leave(&z[1]);
}

static void
its_key_is_deleted(bool missed)
{
	struct want x = { 0 }, y = { 0 };
	const char *how = missed ? ", which is missed" : "";
	uint64_t gaps = stats_of(&b).gaps, turns = stats_of(&b).turns;

	want_queued(&x, &a, "k", CLAIM_EXCLUSIVE);
	want_queued(&y, &b, "k", CLAIM_EXCLUSIVE);
	drop_from = missed ? (int)b.number : -1;
	ok(claim_delete(&b), "its key is there");
	drop_from = -1;
	b_asks_in_vain = missed;	/* what it missed */
	if (missed)
		loop_for(20);
	want_leave(&x);
	loop_for(50);
	b_asks_in_vain = false;
	UNTIL(y.failed || y.granted);
	is(y.granted, 0, "its own key was deleted%s: it has no turn", how);
	is(y.error, ENOENT, "with that error%s", how);
	is((int)(stats_of(&b).gaps - gaps), missed, "gaps%s", how);
	is((int)(stats_of(&b).turns - turns), 0, "turns%s", how);
}

/* Something was missed, and nothing of it mattered. */
static void
a_gap(void)
{
	struct want x = { 0 }, y = { 0 }, other = { 0 };
	uint64_t turns;

	want_queued(&x, &a, "k", CLAIM_EXCLUSIVE);
	want_queued(&y, &b, "k", CLAIM_EXCLUSIVE);
	turns = stats_of(&b).turns;
	drop_from = (int)b.number;
	want_queued(&other, &c, "other", CLAIM_EXCLUSIVE);
	drop_from = -1;
	loop_for(50);
	want_leave(&x);
	UNTIL(y.granted);
	cmp(y.revision, >, x.revision, "after a gap: granted");
	is((int)(stats_of(&b).turns - turns), 0, "by the store");
	want_leave(&y);
	want_leave(&other);
	turns = stats_of(&b).turns;
	want_queued(&x, &a, "k", CLAIM_EXCLUSIVE);
	want_queued(&y, &b, "k", CLAIM_EXCLUSIVE);
	want_leave(&x);
	UNTIL(y.granted);
	is((int)(stats_of(&b).turns - turns), 1, "and later by the watch");
	want_leave(&y);
}

int
main(void)
{
	/* no look at all now and then in the midst */
	member_ttl_ms = 60000;
	member_begin();
	fake_store_mishaps(member_store, lose, lag, NULL);
	member_up(&a, 0);
	member_up(&b, 1);
	member_up(&c, 2);
	one_waits();
	one_between_leaves();
	one_behind_gives_up();
	many_are_ahead();
	readers_confirm();
	several_at_once();
	its_key_is_deleted(false);
	its_key_is_deleted(true);
	a_gap();
	is((int)count_keys("test/q/"), 0, "nothing is left in the queues");
	member_close(&a);
	member_close(&b);
	member_close(&c);
	member_end();
	return done();
}
