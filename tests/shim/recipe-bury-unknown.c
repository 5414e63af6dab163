/* SPDX-License-Identifier: MIT */
/*
 * Invariant MG4 of recipe.h: a dead host had a key that we may not write any
 * more, so that its lease is not ours to revoke.  When the key may be written
 * again it is deleted, and the answer to that is lost.  The dead session's
 * lease is ended all the same.
 *
 * Otherwise the lease would stay for ever, because nothing else leads to it any
 * more.
 */
#include "../tap.h"
#include "support/asked.h"
#include "support/member.h"

static struct member a, b;
static bool denied;
static unsigned lost;

static enum fake_mishap
mishap(unsigned host, uint64_t call, void *arg)
{
	(void)call;
	(void)arg;
	if (host != 1)
		return FAKE_NONE;
	if (denied)
		return asked_to_write("/q/denied/") || (asked_to_revoke &&
		    count_keys("test/q/denied/") > 0) ? FAKE_DENIED : FAKE_NONE;
	if (!asked_to_write("/q/denied/") || lost > 0)
		return FAKE_NONE;
	lost++;
	return FAKE_LOST_ANSWER;
}

int
main(void)
{
	struct want x = { 0 };

	member_ttl_ms = 500;
	member_begin();
	fake_store_mishaps(member_store, mishap, NULL, NULL);
	member_up(&a, 0);
	member_up(&b, 1);
	asked_watch(b.e);
	want(&x, &a, "denied", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted);
	denied = true;
	member_close(&a);		/* as if killed */
	UNTIL(count_keys("test/s/") == 1);
	loop_for(300);
	is((int)count_keys("test/q/denied/"), 1,
	    "what may not be written stays");
	denied = false;
	UNTIL(count_keys("test/q/denied/") == 0);
	is((int)lost, 1, "it is deleted, and the answer lost");
	UNTIL(count_leases() == 1);
	is(count_leases(), 1, "the dead session's lease is ended");
	member_close(&b);
	member_end();
	return done();
}
