/* SPDX-License-Identifier: MIT */
/*
 * The answers to the request for a session's lease are lost.  It is requested
 * again by its id, and there is one lease in the end; an id that belongs to
 * another is left alone.
 *
 * Otherwise each lost answer would leave a lease in the store, or end another
 * host's.
 */
#include "../tap.h"
#include "shim/support/fake_store.h"
#include "support/member.h"

static struct member a;
static const struct engine_ops *theirs;
static enum fake_mishap what;
static unsigned asked, lost;
static bool is_grant, take_first;
static int64_t taken;

static enum fake_mishap
lose(unsigned host, uint64_t call, void *arg)
{
	return is_grant && lost > 0 && lost-- ? what : FAKE_NONE;
}

static int
grant(struct engine *e, int64_t id, int64_t ttl_s, int timeout_ms,
    kv_answer_fn *fn, void *arg)
{
	struct kv_answer answer = { .fate = FATE_UNKNOWN };
	int error;

	if (take_first && asked == 0) {
		taken = id;
		store_grant(member_store, id, 60, &answer);
	}
	asked++;
	is_grant = true;
	error = theirs->grant(e, id, ttl_s, timeout_ms, fn, arg);
	is_grant = false;
	return error;
}

static int
leases(int64_t id)
{
	struct lease *l;
	int n = 0;

	TAILQ_FOREACH(l, &member_store->leases, all)
		n += id == 0 || l->id == id;
	return n;
}

static void
run(enum fake_mishap mishap, const char *name)
{
	struct engine_ops ours;

	what = mishap;
	lost = take_first ? 0 : 5;
	asked = 0;
	a = (struct member){ 0 };
	member_begin();
	fake_store_mishaps(member_store, lose, NULL, NULL);
	member_open(&a, 0);
	theirs = a.e->ops;
	ours = *theirs;
	ours.grant = grant;
	a.e->ops = &ours;
	UNTIL(a.settled);
	loop_for(3 * member_timeout_ms);	/* what is late has come */
	is(a.settled, 1, "%s: there is a session", name);
	cmp(asked, >=, 2, "its lease was asked for again");
	if (take_first) {
		is(leases(0), 2, "there is one more");
		is(leases(taken), 1, "than that which was there");
	} else {
		is(leases(0), 1, "there is one");
	}
	a.e->ops = theirs;
	recipe_retire(a.r);
	UNTIL(a.retired);
	is(leases(0), take_first, "at the end ours is gone");
	member_close(&a);
	member_end();
}

/* By hand, so nobody else cleans up what it leaves. */
static void
ended_by_hand(void)
{
	struct want x = { 0 };

	lost = 0;
	a = (struct member){ 0 };
	member_begin();
	member_up(&a, 0);
	want(&x, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted);
	session_delete(&a);
	UNTIL(x.failed && a.settled == 2);
	loop_for(50);
	is(a.settled, 2, "its session's key is deleted: there is another one");
	is(leases(0), 1, "the lease of the first one is gone");
	is((int)count_keys("test/q/"), 0, "and with it what it had");
	recipe_retire(a.r);
	UNTIL(a.retired);
	member_close(&a);
	member_end();
}

int
main(void)
{
	run(FAKE_LOST_ANSWER, "lost answers");
	run(FAKE_BROKEN_APPLIED, "broken connections");
	run(FAKE_LATE, "late ones");
	run(FAKE_LOST_REQUEST, "lost requests");
	take_first = true;
	run(FAKE_NONE, "somebody's");
	ended_by_hand();
	return done();
}
