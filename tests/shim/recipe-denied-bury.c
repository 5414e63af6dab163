/* SPDX-License-Identifier: MIT */
/*
 * A host died that had a key which we may not write any more, and another one:
 * its lease is not ours to revoke (etcd looks at all keys under it), nor that
 * key to delete.  The other one is had elsewhere all the same.
 */
#include "../tap.h"
#include "support/asked.h"
#include "support/member.h"

static struct member a, b;
static bool denied;

static enum fake_mishap
deny(unsigned host, uint64_t call, void *arg)
{
	(void)call;
	(void)arg;
	if (host != 1 || !denied)
		return FAKE_NONE;
	return asked_to_write("/q/denied/") || (asked_to_revoke &&
	    count_keys("test/q/denied/") > 0) ? FAKE_DENIED : FAKE_NONE;
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
	UNTIL(count_leases() == 1);
	is(count_leases(), 1, "and the dead session's lease is ended");
	member_close(&b);
	member_end();
	return done();
}
