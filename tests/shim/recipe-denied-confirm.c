/* SPDX-License-Identifier: MIT */
/*
 * The permission for a key is taken away while it is queued for, together with
 * another one: who waits is told, and the other key is in nobody's way.
 */
#include <errno.h>
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
	return host == 0 && denied && asked_to_write("/q/denied/") ?
	    FAKE_DENIED : FAKE_NONE;
}

int
main(void)
{
	static const char *const names[] = { "denied", "other" };
	struct want w[2] = { { 0 }, { 0 } }, x = { 0 }, y = { 0 };

	member_ttl_ms = 1000;
	member_begin();
	fake_store_mishaps(member_store, deny, NULL, NULL);
	member_up(&a, 0);
	member_up(&b, 1);
	asked_watch(a.e);
	want(&x, &b, "denied", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted);
	want_many(w, 2, &a, names, CLAIM_SHARED, 0);
	UNTIL(x.recalled);
	loop_for(100);
	denied = true;
	want_leave(&x);
	want(&y, &b, "other", CLAIM_EXCLUSIVE, 0);
	UNTIL(y.granted && w[0].failed && w[1].failed);
	is(w[0].error, EACCES, "who waits for it is told");
	is(w[1].error, EACCES, "and who waits for both");
	is(y.granted, 1, "what may be written is had by who waits for it");
	denied = false;
	UNTIL(count_keys("test/q/denied/") == 0);
	is((int)count_keys("test/q/denied/"), 0, "in the end it is deleted");
	member_close(&a);
	member_close(&b);
	member_end();
	return done();
}
