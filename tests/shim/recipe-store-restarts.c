/* SPDX-License-Identifier: MIT */
/*
 * The store restarts, and claims and queues are unchanged.  If it comes back as
 * another store, or from the past, it is refused, and nothing is reported of
 * any claim.  Changes are lost and late meanwhile.
 *
 * Otherwise a restart of etcd would free keys that are held.
 */
#include "../tap.h"
#include "support/member.h"

static struct member a, b;
static int next_lag;

static int
lag(unsigned host, void *arg)
{
	(void)host;
	(void)arg;
	return next_lag;
}

static void
restarts(void)
{
	struct want x = { 0 }, y = { 0 }, z = { 0 };
	uint64_t until = a.until_ns;

	want(&x, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted);
	want(&y, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.recalled);
	fake_store_cut(member_store, true);
	UNTIL(a.store == KV_AWAY && b.store == KV_AWAY);
	want(&z, &b, "z", CLAIM_EXCLUSIVE, 0);
	loop_for(200);
	ok(!z.granted, "nothing is granted while it is away");
	claim_leave(x.c);		/* it is asked when it can be */
	fake_store_cut(member_store, false);
	UNTIL(y.granted && z.granted && x.left);
	ok(y.granted && z.granted && x.left, "then all goes on");
	is((int)(a.losts + b.losts), 0, "no session was lost");
	UNTIL(a.until_ns > until);
	cmp(a.until_ns, >, until, "D goes on");
	want_leave(&y);
	want_leave(&z);
}

static void
watch(int ms)
{
	struct want x = { 0 }, y = { 0 }, z = { 0 };

	fake_store_mishaps(member_store, NULL, lag, NULL);
	next_lag = ms;
	want(&x, &a, "k", CLAIM_SHARED, 0);
	UNTIL(x.granted);
	want(&y, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.recalled);
	ok(x.recalled, "recalled, changes being %s", ms < 0 ? "lost" : "late");
	want(&z, &a, "k", CLAIM_EXCLUSIVE, 0);
	want_leave(&x);
	UNTIL(y.granted);
	ok(y.granted, "granted");
	UNTIL(y.recalled);
	want_leave(&y);
	UNTIL(z.granted);
	ok(z.granted, "the next, too");
	want_leave(&z);
	next_lag = 0;
}

static void
refused(void)
{
	struct kv_mark mark;
	struct want x = { 0 };
	unsigned marks = a.marks;

	UNTIL(a.marks > marks);
	mark = a.mark;
	cmp(mark.revision, >, 0, "a mark is reported");
	want(&x, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted);
	fake_store_become(member_store, mark.cluster, 3);
	UNTIL(a.store == KV_REFUSED && b.store == KV_REFUSED);
	is(a.store, KV_REFUSED, "a store from the past is refused (%s)",
	    a.why);
	loop_for(1200);
	cmp(a.until_ns, <, member_now_ns(), "D passes");
	ok(x.c != NULL && !x.failed && !a.losts, "nothing else is known");
	member_close(&b);
	member_open_with(&b, 1, NULL, &mark);
	UNTIL(b.store == KV_REFUSED);
	is(b.store, KV_REFUSED, "as is by who opens with a mark");
	member_close(&b);
	fake_store_become(member_store, mark.cluster + 1, mark.revision + 9);
	member_open_with(&b, 1, NULL, &mark);
	UNTIL(b.store == KV_REFUSED);
	is(b.store, KV_REFUSED, "another store is refused");
	member_close(&b);
}

int
main(void)
{
	member_begin();
	member_up(&a, 0);
	member_up(&b, 1);
	restarts();
	watch(20);
	watch(FAKE_DROP);
	is((int)count_keys("test/q/"), 0, "nothing is left in the queues");
	refused();
	member_close(&a);
	member_end();
	return done();
}
