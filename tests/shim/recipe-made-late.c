/* SPDX-License-Identifier: MIT */
/*
 * The answer that a session was made is lost, and the session ends, by another
 * member, by its maker or by hand, before it is requested again.  The new
 * request must not get a session whose lease is about to be revoked.
 *
 * Otherwise a host would begin with a session that ends at once.
 */
#include <stdio.h>
#include <string.h>
#include "../tap.h"
#include "support/asked.h"
#include "support/member.h"

static struct member a, b;
static const struct engine_ops *theirs;
static bool by_hand, a_lost, b_slow;
static unsigned a_txns;
static char newest[60];

static int
end_lease(struct engine *e, int64_t lease, int timeout_ms, kv_answer_fn *fn,
    void *arg)
{
	/* not sent yet: it is tried again soon */
	return b_slow && e == b.e ? -1 :
	    theirs->revoke(e, lease, timeout_ms, fn, arg);
}

static enum fake_mishap
lose(unsigned host, uint64_t call, void *arg)
{
	if (host != 0 || !asked_to(KV_PUT) || !a_lost)
		return FAKE_NONE;
	a_lost = !by_hand;
	return a_txns++ == 0 ? FAKE_LOST_ANSWER : FAKE_LOST_REQUEST;
}

static void
find(const struct kv_pair *p, void *arg)
{
	(void)arg;
	if (p->create_revision == fake_store_revision(member_store))
		(void)snprintf(newest, sizeof(newest), "%.*s",
		    (int)p->key.len, (const char *)p->key.p);
}

static void
run(bool hand)
{
	struct engine_ops ours;
	struct want x = { 0 };
	uint64_t end;

	a = b = (struct member){ 0 };
	by_hand = hand;
	a_lost = b_slow = true;
	a_txns = 0;
	member_begin();
	fake_store_mishaps(member_store, lose, NULL, NULL);
	member_up(&b, 1);
	member_open(&a, 0);
	asked_watch(a.e);
	theirs = a.e->ops;
	ours = *theirs;
	ours.revoke = end_lease;
	a.e->ops = b.e->ops = &ours;
	UNTIL(count_keys("test/s/") == 2);
	is((int)count_keys("test/s/"), 2, "A's session is made, unheard of");
	if (by_hand) {
		fake_store_each(member_store, find, NULL);
		fake_store_delete(member_store, (struct kv_bytes){
		    (const uint8_t *)newest, strlen(newest) });
	}
	UNTIL(count_keys("test/s/") == 1);
	is((int)count_keys("test/s/"), 1, "it is ended%s",
	    by_hand ? " by hand" : "");
	a_lost = false;
	UNTIL(a.settled);
	want(&x, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted);
	ok(x.granted, "A has a session, and a key");
	b_slow = false;		/* and now B revokes its lease */
	for (end = member_now_ns() + 2000000000u; member_now_ns() < end;) {
		loop_once();
		if (count_keys("test/q/k/") == 0)
			break;
	}
	is((int)count_keys("test/q/k/"), 1, "its key is there still");
	is(a.losts, 0, "and so is its session");
	want_leave(&x);
	a.e->ops = b.e->ops = theirs;
	member_close(&a);
	member_close(&b);
	member_end();
}

int
main(void)
{
	run(false);
	run(true);
	return done();
}
