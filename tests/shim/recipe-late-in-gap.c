/* SPDX-License-Identifier: MIT */
/*
 * The same as recipe-left-and-late.c, but the change of the late key is missed,
 * and a look at everything reports it before the deletion is answered.
 *
 * Otherwise a claim that was given up would hold the key for nobody.
 */
#include "../tap.h"
#include "support/member.h"

static struct member a, b;
static const struct engine_ops *theirs;
static struct engine_ops ours;
static enum fake_mishap next;
static unsigned n_puts;
static bool miss;

static enum fake_mishap
mishap(unsigned host, uint64_t call, void *arg)
{
	(void)host;
	(void)call;
	(void)arg;
	return next;
}

static int
lag(unsigned host, void *arg)
{
	(void)arg;
	return host == 0 && miss ? (miss = false, FAKE_DROP) : 0;
}

/* The first put of a claim: unknown at once, done in 40 ms.  Deletions: done at
 * once, answered in 100 ms. */
static int
txn(struct engine *e, const struct kv_txn *t, int timeout_ms, kv_answer_fn *fn,
    void *arg)
{
	bool deletes = t->n_then > 0 && t->then[0].what == KV_DELETE;
	int error;

	if (deletes) {
		next = FAKE_SLOW_ANSWER;
	} else if (t->n_then > 0 && t->then[0].what == KV_PUT &&
	    t->n_compares == 2 && n_puts++ == 0) {
		next = FAKE_BROKEN_LATE;
		miss = true;		/* the next change */
	}
	error = theirs->txn(e, t, deletes ? 200 : timeout_ms, fn, arg);
	next = FAKE_NONE;
	return error;
}

int
main(void)
{
	struct want x = { 0 }, y = { 0 };
	struct recipe_stats s;
	uint64_t gaps;

	member_ttl_ms = 60000;
	member_timeout_ms = 40;
	member_begin();
	fake_store_mishaps(member_store, mishap, lag, NULL);
	member_up(&a, 0);
	member_up(&b, 1);
	recipe_stats(a.r, &s);
	gaps = s.gaps;
	theirs = a.e->ops;
	ours = *theirs;
	ours.txn = txn;
	a.e->ops = &ours;
	want(&x, &a, "k", CLAIM_EXCLUSIVE, 0);
	while (n_puts == 0)
		loop_once();
	claim_leave(x.c);
	UNTIL(x.left);
	is(x.left, 1, "it is left");
	recipe_stats(a.r, &s);
	is((int)(s.gaps - gaps), 1, "something was missed meanwhile");
	UNTIL(count_keys("test/q/") == 0);
	is((int)count_keys("test/q/"), 0, "it is not in the queue");
	want(&y, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(y.granted);
	is(y.granted, 1, "another is granted the key");
	member_close(&a);
	member_close(&b);
	member_end();
	return done();
}
