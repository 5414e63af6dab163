/* SPDX-License-Identifier: MIT */
/*
 * A member may have leases, but may not write keys: leases that it requested
 * without success do not pile up in the store.
 *
 * Otherwise a host with a wrong role would fill the store.
 */
#include "../tap.h"
#include "shim/support/fake_store.h"
#include "support/asked.h"
#include "support/member.h"

static struct member a;
static bool denied = true;

static enum fake_mishap
deny(unsigned host, uint64_t call, void *arg)
{
	return denied && asked != NULL ? FAKE_DENIED : FAKE_NONE;
}

int
main(void)
{
	member_begin();
	fake_store_mishaps(member_store, deny, NULL, NULL);
	member_open(&a, 0);
	asked_watch(a.e);
	UNTIL(member_store->leases_made >= 5);
	cmp(member_store->leases_made, >=, 5, "leases are asked for");
	cmp(count_leases(), <=, 2, "and given back");
	denied = false;
	UNTIL(a.settled);
	loop_for(200);
	is(count_leases(), 1, "with a session there is one");
	member_close(&a);
	member_end();
	return done();
}
