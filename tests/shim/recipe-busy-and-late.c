/* SPDX-License-Identifier: MIT */
/*
 * A try is sent twice: the second is busy; the first is applied after that,
 * when the key is free, and its change arrives before the answer "busy". Nobody
 * has the key then, and nothing stays in the queue.
 *
 * Otherwise a failed try would hold the key for a host that does not know of
 * it.
 */
#include "../tap.h"
#include "support/member.h"

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

/* The first sending of the try: unknown at once, done in 60 ms.  The second:
 * done at once, answered in 150 ms. */
static int
txn(struct engine *e, const struct kv_txn *t, int timeout_ms, kv_answer_fn *fn,
    void *arg)
{
	bool tries = t->n_then > 0 && t->then[0].what == KV_PUT &&
	    t->n_compares == 2;
	int error;

	if (tries && n_puts < 2)
		next = n_puts == 0 ? FAKE_BROKEN_LATE : FAKE_SLOW_ANSWER;
	n_puts += tries;
	error = theirs->txn(e, t, next == FAKE_SLOW_ANSWER ? 300 : timeout_ms,
	    fn, arg);
	next = FAKE_NONE;
	return error;
}

static void
run(bool leaves)
{
	struct want x = { 0 }, y = { 0 }, z = { 0 };

	a = b = (struct member){ 0 };
	n_puts = 0;
	member_begin();
	fake_store_mishaps(member_store, mishap, NULL, NULL);
	member_up(&a, 0);
	member_up(&b, 1);
	want(&y, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(y.granted);
	theirs = a.e->ops;
	ours = *theirs;
	ours.txn = txn;
	a.e->ops = &ours;
	want(&x, &a, "k", CLAIM_EXCLUSIVE, CLAIM_TRY);
	UNTIL(n_puts == 2);
	if (leaves)
		claim_leave(x.c);
	want_leave(&y);
	UNTIL(x.busy || x.left);
	is((int)n_puts, 2, "it was asked for twice");
	ok(leaves ? x.left : x.busy, "it is not had");
	UNTIL(count_keys("test/q/") == 0);
	is((int)count_keys("test/q/"), 0, "it is not in the queue");
	want(&z, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(z.granted);
	is(z.granted, 1, "another is granted the key");
	member_close(&a);
	member_close(&b);
	member_end();
}

int
main(void)
{
	member_ttl_ms = 60000;
	member_timeout_ms = 60;
	run(false);
	run(true);
	return done();
}
