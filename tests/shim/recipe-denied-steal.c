/* SPDX-License-Identifier: MIT */
/*
 * Just when a dead session is to be ended, the permission is missing for a
 * moment.  It is ended later, also where nobody else is there to be heard of.
 */
#include "../tap.h"
#include "support/asked.h"
#include "support/member.h"

static struct member a, b;
static unsigned denials;

static enum fake_mishap
deny(unsigned host, uint64_t call, void *arg)
{
	(void)call;
	(void)arg;
	if (host != 1 || denials > 0 || !asked_to(KV_DELETE) ||
	    asked->n_compares != 1)
		return FAKE_NONE;
	denials++;
	return FAKE_DENIED;
}

int
main(void)
{
	struct want x = { 0 }, y = { 0 };

	member_ttl_ms = 1000;
	member_begin();
	fake_store_mishaps(member_store, deny, NULL, NULL);
	member_up(&a, 0);
	member_up(&b, 1);
	asked_watch(b.e);
	want(&x, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted);
	want(&y, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.recalled);
	member_close(&a);		/* as if killed */
	UNTIL(y.granted);
	is((int)denials, 1, "it was not permitted at first");
	is(y.granted, 1, "who waits has the key in the end");
	member_close(&b);
	member_end();
	return done();
}
