/* SPDX-License-Identifier: MIT */
/*
 * As recipe-put-again, while the claim is being anchored: what was put again by
 * a late sending goes then, too, and not at the next look at everything.
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

static enum fake_mishap
mishap(unsigned host, uint64_t call, void *arg)
{
	(void)call;
	(void)arg;
	return host == 0 ? next : FAKE_NONE;
}

/* The first put of a claim: unknown at once, done later. */
static int
txn(struct engine *e, const struct kv_txn *t, int timeout_ms, kv_answer_fn *fn,
    void *arg)
{
	bool puts = t->n_then > 0 && t->then[0].what == KV_PUT &&
	    t->n_compares == 2;
	int error;

	if (puts && n_puts++ == 0) {
		next = FAKE_BROKEN_LATE;
		timeout_ms = LATE_MS;
	} else if (puts && n_puts == 3) {	/* the anchor */
		next = FAKE_SLOW_ANSWER;
		timeout_ms = LATE_MS;
	}
	error = theirs->txn(e, t, timeout_ms, fn, arg);
	next = FAKE_NONE;
	return error;
}

static void
run(void)
{
	struct want x = { 0 }, y = { 0 }, z = { 0 };

	a = b = (struct member){ 0 };
	n_puts = 0;
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
	ok(claim_anchor(x.c), "a new revision is asked for");
	fake_cut(a.e, false);
	UNTIL(x.failed);
	is(x.failed, 1, "who had it is told");
	is(x.error, ENOENT, "that it was deleted");
	want_leave(&y);
	want(&z, &b, "k", CLAIM_EXCLUSIVE, 0);
	for (int i = 0; i < 100 && !z.granted; i++)
		loop_for(50);
	is(z.granted, 1, "another one has it, soon");
	want_leave(&z);
	member_close(&a);
	member_close(&b);
	member_end();
}

int
main(void)
{
	member_ttl_ms = 4000;
	run();
	return done();
}
