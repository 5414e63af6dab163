/* SPDX-License-Identifier: MIT */
/*
 * A key that we may not write any more (an operator has taken the permission
 * away) is left together with another one: that one is given back all the same.
 */
#include "../tap.h"
#include "support/asked.h"
#include "support/member.h"

static struct member a, b;
static bool denied;

/* As etcd does: all of a transaction, for one key of it. */
static enum fake_mishap
deny(unsigned host, uint64_t call, void *arg)
{
	(void)call;
	(void)arg;
	return host == 0 && denied && asked_to_write("/q/denied/") ?
	    FAKE_DENIED : FAKE_NONE;
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
	asked_watch(a.e);
	want(&x, &a, "denied", CLAIM_EXCLUSIVE, 0);
	want(&y, &a, "other", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted && y.granted);
	want(&z, &b, "other", CLAIM_EXCLUSIVE, 0);
	UNTIL(y.recalled);
	denied = true;
	claim_leave(x.c);
	claim_leave(y.c);
	UNTIL(y.left && z.granted);
	is(a.losts, 0u, "the session lives");
	is(y.left, 1, "what may be written is given back");
	is(z.granted, 1, "and had elsewhere");
	is(x.left, 0, "what may not is not");
	denied = false;
	UNTIL(x.left && y.left && z.granted);
	is(x.left, 1, "until it may");
	member_close(&a);
	member_close(&b);
	member_end();
	return done();
}
