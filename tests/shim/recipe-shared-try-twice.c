/* SPDX-License-Identifier: MIT */
/*
 * A shared try whose answer was lost is sent again, and its key is in the queue
 * by then: its age is that of the first sending.  So it can draw a new
 * revision, keeps its key, and does not block a writer when it has left.
 *
 * Otherwise a lost answer would let a reader block writers for ever.
 */
#include "../tap.h"
#include "support/asked.h"
#include "support/member.h"

static struct member a, b;
static enum fake_mishap what;

static enum fake_mishap
lose(unsigned host, uint64_t call, void *arg)
{
	enum fake_mishap m = what;

	(void)call;
	(void)arg;
	/* the first sending of the try: two comparisons, one put */
	if (host != 0 || !asked_to(KV_PUT) || asked->n_compares != 2)
		return FAKE_NONE;
	what = FAKE_NONE;
	return m;
}

static void
run(enum fake_mishap mishap, const char *name)
{
	struct want x = { 0 }, y = { 0 };

	what = mishap;
	want(&x, &a, "k", CLAIM_SHARED, CLAIM_TRY);
	UNTIL(x.granted || x.busy || x.failed);
	is(x.granted, 1, "%s: a shared try is granted", name);
	is(what, FAKE_NONE, "it was asked twice");
	claim_anchor(x.c);
	UNTIL(x.anchored || x.failed);
	is(x.failed, 0, "it is not reported lost (%s)", x.why);
	is(x.anchored, 1, "it has drawn a new revision");
	want(&y, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(count_keys("test/q/") >= 2);
	if (x.c != NULL)
		want_leave(&x);
	UNTIL(y.granted);
	is(y.granted, 1, "a writer elsewhere has it when it has left");
	want_leave(&y);
	is((int)count_keys("test/q/"), 0, "nothing is left in the queue");
}

int
main(void)
{
	member_ttl_ms = 60000;	/* no look at all now and then meanwhile */
	member_begin();
	fake_store_mishaps(member_store, lose, NULL, NULL);
	member_up(&a, 0);
	member_up(&b, 1);
	asked_watch(a.e);
	run(FAKE_LOST_ANSWER, "a lost answer");
	run(FAKE_BROKEN_APPLIED, "a broken connection");
	member_close(&a);
	member_close(&b);
	member_end();
	return done();
}
