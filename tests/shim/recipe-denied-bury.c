/* SPDX-License-Identifier: MIT */
/*
 * A host died that had a key which we may not write any more, and another one:
 * its lease is not ours to revoke (etcd looks at all keys under it), nor that
 * key to delete.  The other one is had elsewhere all the same.
 */
#include <string.h>
#include "../tap.h"
#include "shim/fake_store.h"
#include "support/asked.h"
#include "support/member.h"

static struct member a, b;
static const struct engine_ops *theirs;
static struct engine_ops ours;
static bool denied, is_revoke;

static bool
is_about(const struct kv_op *op, const char *what)
{
	return memmem(op->range.key.p, op->range.key.len, what,
	    strlen(what)) != NULL;
}

static enum fake_mishap
deny(unsigned host, uint64_t call, void *arg)
{
	(void)call;
	(void)arg;
	if (host != 1 || !denied)
		return FAKE_NONE;
	if (is_revoke && count_keys("test/q/denied/") > 0)
		return FAKE_DENIED;
	for (size_t i = 0; asked != NULL && i < asked->n_then; i++)
		if (asked->then[i].what != KV_GET &&
		    is_about(&asked->then[i], "/q/denied/"))
			return FAKE_DENIED;
	return FAKE_NONE;
}

static int
deny_revoke(struct engine *e, int64_t lease, int timeout_ms, kv_answer_fn *fn,
    void *arg)
{
	int error;

	is_revoke = true;
	error = theirs->revoke(e, lease, timeout_ms, fn, arg);
	is_revoke = false;
	return error;
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
	struct want x = { 0 }, y = { 0 }, z = { 0 };

	member_ttl_ms = 1000;
	member_begin();
	fake_store_mishaps(member_store, deny, NULL, NULL);
	member_up(&a, 0);
	member_up(&b, 1);
	asked_watch(b.e);
	theirs = b.e->ops;
	ours = *theirs;
	ours.revoke = deny_revoke;
	b.e->ops = &ours;
	want(&x, &a, "denied", CLAIM_EXCLUSIVE, 0);
	want(&y, &a, "other", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted && y.granted);
	want(&z, &b, "other", CLAIM_EXCLUSIVE, 0);
	UNTIL(y.recalled);
	denied = true;
	member_close(&a);		/* as if killed */
	UNTIL(z.granted);
	is(z.granted, 1, "what may be written is had by who waits for it");
	is((int)count_keys("test/q/denied/"), 1, "what may not stays");
	denied = false;
	UNTIL(count_keys("test/q/denied/") == 0);
	is((int)count_keys("test/q/denied/"), 0, "until it may");
	UNTIL(leases() == 1);
	is(leases(), 1, "and the dead session's lease is ended");
	member_close(&b);
	member_end();
	return done();
}
