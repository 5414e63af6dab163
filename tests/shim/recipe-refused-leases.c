/* SPDX-License-Identifier: MIT */
/*
 * A member that may have leases and may not write: those that it asked for in
 * vain do not pile up in the store.
 */
#include "../tap.h"
#include "shim/fake_store.h"
#include "support/member.h"

static struct member a;
static const struct engine_ops *theirs;
static bool denied = true, is_txn;

static int
txn(struct engine *e, const struct kv_txn *t, int timeout_ms, kv_answer_fn *fn,
    void *arg)
{
	int error;

	is_txn = true;
	error = theirs->txn(e, t, timeout_ms, fn, arg);
	is_txn = false;
	return error;
}

static enum fake_mishap
deny(unsigned host, uint64_t call, void *arg)
{
	return denied && is_txn ? FAKE_DENIED : FAKE_NONE;
}

static int
leases(void)
{
	struct lease *l;
	int n = 0;

	TAILQ_FOREACH(l, &member_store->leases, all)
		n++;
	return n;
}

int
main(void)
{
	struct engine_ops ours;

	member_begin();
	fake_store_mishaps(member_store, deny, NULL, NULL);
	member_open(&a, 0);
	theirs = a.e->ops;
	ours = *theirs;
	ours.txn = txn;
	a.e->ops = &ours;
	UNTIL(member_store->leases_made >= 5);
	cmp(member_store->leases_made, >=, 5, "leases are asked for");
	cmp(leases(), <=, 2, "and given back");
	denied = false;
	UNTIL(a.settled);
	loop_for(200);
	is(leases(), 1, "with a session there is one");
	a.e->ops = theirs;
	member_close(&a);
	member_end();
	return done();
}
