/* SPDX-License-Identifier: MIT */
/* test: slow 9 */
/*
 * Answers arrive after younger changes: the watch has reported a deletion, or
 * has missed one, before an answer that does not know of it.  Grants, kept
 * claims and waits follow the present state.
 *
 * Otherwise a host would believe in a key that has been deleted since.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include "../tap.h"
#include "support/member.h"

#define CROWD 40
#define TRIES 5

static struct member a, b;
static enum fake_mishap a_has;		/* all calls of it */
static unsigned a_ups = UINT_MAX;	/* once it was up that often: slow */
static bool a_misses;			/* a change */

static enum fake_mishap
mishap(unsigned host, uint64_t call, void *arg)
{
	(void)call;
	(void)arg;
	if (host != 0)
		return FAKE_NONE;
	return a.ups > a_ups ? FAKE_SLOW_ANSWER : a_has;
}

static int
lag(unsigned host, void *arg)
{
	(void)arg;
	return host == 0 && a_misses ? FAKE_DROP : 0;
}

/* Asks for a key, and deletes its claim before the answer comes.  False if the
 * machine is so busy that the answer came first. */
static bool
delete_first(struct want *x, struct want *y, unsigned flags)
{
	a_has = FAKE_SLOW_ANSWER;
	want(x, &a, "k", CLAIM_EXCLUSIVE, flags);
	UNTIL(count_keys("test/q/") == 1);
	ok(claim_delete(&a), "its key is there");
	want(y, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(y->granted);
	loop_for(30);
	a_has = FAKE_NONE;
	return !x->granted;
}

/* Granted, and deleted by hand; the deletion is reported first. */
static void
deleted_before_it_is_granted(unsigned flags)
{
	const char *how = flags == CLAIM_TRY ? "a try" : "a claim";
	struct want x = { 0 }, y = { 0 };

	for (int i = 1; !delete_first(&x, &y, flags) && i < TRIES; i++) {
		want_leave(&y);
		want_leave(&x);
		x = y = (struct want){ 0 };
	}
	is(x.granted, 0, "%s whose key was deleted is not granted", how);
	is(x.error, ENOENT, "and %s gets that error", how);
	want_leave(&y);
	want_leave(&x);
}

/* Its own earlier claim is ahead, and deleted by hand. */
static void
behind_its_own(void)
{
	struct want x = { 0 }, y = { 0 };

	want_queued(&x, &a, "k", CLAIM_EXCLUSIVE);
	want_queued(&y, &a, "k", CLAIM_EXCLUSIVE);
	ok(claim_delete(&a), "its key is there");
	loop_for(100);
	is(x.error, ENOENT, "the claim whose key was deleted has ended");
	is(y.granted, 1, "and the one behind it of the same member is granted");
	want_leave(&y);
}

/* The entry ahead leaves, which is missed, and all entries are read again.  The
 * answer to an older request comes last. */
static void
an_answer_from_before_a_gap(void)
{
	struct want x = { 0 }, y = { 0 };

	want_queued(&x, &b, "k", CLAIM_EXCLUSIVE);
	a_has = FAKE_SLOW_ANSWER;
	want(&y, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(count_keys("test/q/") == 2);
	a_has = FAKE_NONE;
	a_misses = true;
	want_leave(&x);
	a_misses = false;
	loop_for(300);
	is(y.granted, 1, "what was missed before the answer is found out");
	want_leave(&y);
}

static void
again(const struct recipe_session *s, struct want *keep, size_t n)
{
	a.keep = keep;
	a.n_keep = n;
	a.n_kept = 0;
	member_open_with(&a, 0, s, NULL);
}

/* Others leave the queue while a session is adopted that waits in it. */
static void
adopted_while_others_leave(void)
{
	struct want x = { 0 }, y = { 0 }, kept = { 0 }, z[CROWD] = { { 0 } };
	unsigned settled = a.settled, founds = a.founds;
	struct recipe_session s = a.session;

	want_queued(&x, &b, "k", CLAIM_EXCLUSIVE);
	want_queued(&y, &a, "k", CLAIM_EXCLUSIVE);
	for (int i = 0; i < CROWD; i++)
		want(&z[i], &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(count_keys("test/q/") == 2 + CROWD);
	member_close(&a);
	a_has = FAKE_SLOW_ANSWER;
	again(&s, &kept, 1);
	for (int i = CROWD; i-- > 0;) {
		claim_leave(z[i].c);
		loop_for(3);
	}
	UNTIL(a.settled > settled);
	a_has = FAKE_NONE;
	is((int)(a.founds - founds), 1, "the claim is found");
	is((int)a.n_kept, 0, "and is not first");
	want_leave(&x);
	UNTIL(count_keys("test/q/") == 0);
}

/* A session's claims are deleted by hand while it is adopted. */
static void
deleted_while_adopted(unsigned ms)
{
	struct want x = { 0 }, y = { 0 }, kept = { 0 };
	struct recipe_session s = a.session;
	unsigned settled = a.settled;

	want_queued(&x, &a, "k", CLAIM_EXCLUSIVE);
	member_close(&a);
	a_has = FAKE_SLOW_ANSWER;
	again(&s, &kept, 1);
	loop_for(ms);
	ok(claim_delete(&a), "its key is there");
	want(&y, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(y.granted && a.settled > settled);
	a_has = FAKE_NONE;
	loop_for(20);
	ok(a.n_kept == 0 || kept.failed == 1,
	    "what was deleted %u ms after is not kept", ms);
	want_leave(&y);
	if (kept.c != NULL)
		want_leave(&kept);
}

/* A request of an earlier life is applied while its session is adopted. */
static void
done_while_adopted(unsigned ms)
{
	struct recipe_session s = a.session;
	unsigned settled = a.settled;
	struct want x = { 0 };

	a_has = FAKE_LATE;
	want(&x, &a, "k", CLAIM_EXCLUSIVE, 0);
	loop_for(ms);
	member_close(&a);
	a_has = FAKE_NONE;
	a_ups = a.ups;
	again(&s, NULL, 0);
	UNTIL(a.settled > settled);
	a_ups = UINT_MAX;
	loop_for(400);
	is((int)count_keys("test/q/"), 0, "what was asked for %u ms before is "
	    "in nobody's way", ms);
	want(&x, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted);
	want_leave(&x);
}

/* A session that somebody ends by hand. */
static void
its_session_is_deleted(void)
{
	struct want x = { 0 }, y = { 0 };
	unsigned losts = a.losts;

	want_queued(&x, &b, "k", CLAIM_EXCLUSIVE);
	want_queued(&y, &a, "k", CLAIM_EXCLUSIVE);
	session_delete(&a);
	loop_for(20);
	want_leave(&x);
	loop_for(200);
	is((int)(a.losts - losts), 1, "the loss is reported");
	ok(strstr(a.why, "by hand") != NULL, "and how: %s", a.why);
	is(y.granted, 0, "and has no turn");
	is(y.error, ESTALE, "its claim has ended");
	want_leave(&y);
}

int
main(void)
{
	/* no look at all now and then in the midst */
	member_ttl_ms = 60000;
	member_begin();
	fake_store_mishaps(member_store, mishap, lag, NULL);
	member_up(&a, 0);
	member_up(&b, 1);
	deleted_before_it_is_granted(0);
	deleted_before_it_is_granted(CLAIM_TRY);
	behind_its_own();
	an_answer_from_before_a_gap();
	adopted_while_others_leave();
	for (unsigned ms = 10; ms < 100; ms += 7)
		deleted_while_adopted(ms);
	for (unsigned ms = 1; ms < 26; ms += 4)
		done_while_adopted(ms);
	its_session_is_deleted();
	member_close(&a);
	member_close(&b);
	member_end();
	return done();
}
