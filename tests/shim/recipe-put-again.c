/* SPDX-License-Identifier: MIT */
/*
 * A claim's key is deleted by hand while its host is cut off, and put again by
 * an earlier request that is applied late.  The host learns that the claim is
 * lost, and it blocks nobody; also if the claim is being anchored meanwhile,
 * when the late key must be deleted at once.
 *
 * Otherwise a late request would hold the key for a host that has lost it.
 */
#include <errno.h>
#include "../tap.h"
#include "support/member.h"

#define LATE_MS 1000

static struct member a, b;
static const struct engine_ops *theirs;
static struct engine_ops ours;
static enum fake_mishap next;
static unsigned n_puts;
static bool anchored;

static enum fake_mishap
mishap(unsigned host, uint64_t call, void *arg)
{
	(void)call;
	(void)arg;
	return host == 0 ? next : FAKE_NONE;
}

/*
 * The first put of a claim: unknown at once, done later.  The third one may be
 * the anchor's, whose answer is late.
 */
static int
txn(struct engine *e, const struct kv_txn *t, int timeout_ms, kv_answer_fn *fn,
    void *arg)
{
	bool puts = t->n_then > 0 && t->then[0].what == KV_PUT &&
	    t->n_compares == 2;
	int error;

	if (puts && (++n_puts == 1 || (n_puts == 3 && anchored))) {
		next = n_puts == 1 ? FAKE_BROKEN_LATE : FAKE_SLOW_ANSWER;
		timeout_ms = LATE_MS;
	}
	error = theirs->txn(e, t, timeout_ms, fn, arg);
	next = FAKE_NONE;
	return error;
}

static void
run(bool anchor)
{
	struct want x = { 0 }, y = { 0 }, z = { 0 };

	a = b = (struct member){ 0 };
	n_puts = 0;
	anchored = anchor;
	member_begin();
	fake_store_mishaps(member_store, mishap, NULL, NULL);
	member_up(&a, 0);
	member_up(&b, 1);
	theirs = a.e->ops;
	ours = *theirs;
	ours.txn = txn;
	a.e->ops = &ours;
	want(&x, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted);
	is((int)n_puts, 2, "it was asked for twice");
	want(&y, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.recalled);
	fake_cut(a.e, true);
	ok(claim_delete(&a), "its key is deleted");
	UNTIL(y.granted);
	UNTIL(count_keys("test/q/k/") == 2);
	is((int)count_keys("test/q/k/"), 2, "and put again, behind");
	if (anchored)
		ok(claim_anchor(x.c), "a new revision is asked for");
	fake_cut(a.e, false);
	UNTIL(x.failed);
	is(x.failed, 1, "the former holder learns of it");
	is(x.error, ENOENT, "that it was deleted");
	for (int i = 0; i < 100 && count_keys("test/q/k/") > 1; i++)
		loop_for(50);
	is((int)count_keys("test/q/k/"), 1, "what was put again goes, soon");
	if (x.c != NULL)
		want_leave(&x);
	want(&z, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(y.recalled);
	want_leave(&y);
	UNTIL(z.granted);
	is(z.granted, 1, "it can be acquired again");
	want_leave(&z);
	member_close(&a);
	member_close(&b);
	member_end();
}

int
main(void)
{
	member_ttl_ms = 4000;
	run(false);
	run(true);
	return done();
}
