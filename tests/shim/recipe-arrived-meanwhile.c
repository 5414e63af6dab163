/* SPDX-License-Identifier: MIT */
/*
 * Another host queues behind a key of ours at a moment when we do not know yet
 * that it is ours: our session is being adopted.  Or the grant is older than a
 * gap in the watch, and the listing after the gap was answered first.  We are
 * asked to give the key back all the same, and not only by the periodic look at
 * everything.
 *
 * Otherwise the other host would wait for minutes.
 */
#include "../tap.h"
#include "support/member.h"

static struct member a, b;
static const struct engine_ops *theirs;
static struct engine_ops ours;
static enum fake_mishap next;
static int slow_page;		/* from now on; 0: none */
static bool slow_puts, a_misses;
static unsigned pages;

static enum fake_mishap
mishap(unsigned host, uint64_t call, void *arg)
{
	(void)call;
	(void)arg;
	return host == 0 ? next : FAKE_NONE;
}

static int
lag(unsigned host, void *arg)
{
	(void)arg;
	return host == 0 && a_misses ? FAKE_DROP : 0;
}

/* Slow ones are done at once, and answered in 100 ms. */
static int
txn(struct engine *e, const struct kv_txn *t, int timeout_ms, kv_answer_fn *fn,
    void *arg)
{
	int error;

	if (t->n_then > 0 && t->then[0].limit > 0) {
		pages++;
		if (slow_page > 0 && --slow_page == 0)
			next = FAKE_SLOW_ANSWER;
	} else if (slow_puts && t->n_then > 0 && t->then[0].what == KV_PUT &&
	    t->n_compares == 2) {
		next = FAKE_SLOW_ANSWER;
	}
	error = theirs->txn(e, t, next != FAKE_NONE ? 200 : timeout_ms, fn,
	    arg);
	next = FAKE_NONE;
	return error;
}

static void
look_at(struct member *m)
{
	theirs = m->e->ops;
	ours = *theirs;
	ours.txn = txn;
	m->e->ops = &ours;
}

static void
while_adopted(void)
{
	struct want x = { 0 }, y = { 0 }, kept = { 0 };
	struct recipe_session s = a.session;
	unsigned settled = a.settled;

	want_queued(&x, &a, "k", CLAIM_EXCLUSIVE);
	UNTIL(x.granted);
	is(x.granted, 1, "A has it");
	a.e->ops = theirs;
	member_close(&a);
	a.keep = &kept;
	a.n_keep = 1;
	a.n_kept = 0;
	member_open_with(&a, 0, &s, NULL);
	look_at(&a);
	pages = 0;
	slow_page = 3;		/* of the gap; adopting, first, second */
	UNTIL(pages >= 3);
	is(a.settled, settled, "and is adopted just now");
	want(&y, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(count_keys("test/q/") == 2);
	UNTIL(a.settled > settled);
	diag("%u pages", pages);
	is((int)a.n_kept, 1, "its key is kept");
	UNTIL(kept.recalled);
	is(kept.recalled, CLAIM_EXCLUSIVE, "and recalled");
	if (kept.c != NULL)
		want_leave(&kept);
	UNTIL(y.granted);
	want_leave(&y);
	slow_page = 0;
}

static void
before_a_gap(unsigned flags)
{
	const char *how = flags == CLAIM_TRY ? "a try" : "a claim";
	struct want x = { 0 }, y = { 0 };

	slow_puts = true;
	want(&x, &a, "k", CLAIM_EXCLUSIVE, flags);
	UNTIL(count_keys("test/q/") == 1);
	slow_puts = false;
	a_misses = true;
	want(&y, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(count_keys("test/q/") == 2);
	a_misses = false;
	UNTIL(x.granted);
	is(x.granted, 1, "%s is granted", how);
	UNTIL(x.recalled);
	is(x.recalled, CLAIM_EXCLUSIVE, "%s is recalled", how);
	want_leave(&x);
	UNTIL(y.granted);
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
	look_at(&a);
	while_adopted();
	before_a_gap(0);
	before_a_gap(CLAIM_TRY);
	member_close(&a);
	member_close(&b);
	member_end();
	return done();
}
