/* SPDX-License-Identifier: MIT */
/*
 * The permission for a key that is granted is taken away: it may draw no new
 * revision, and is told; it is granted still, and with permission it may.
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
	return host == 0 && denied && asked_to(KV_PUT) &&
	    asked->n_compares == 2 ? FAKE_DENIED : FAKE_NONE;
}

int
main(void)
{
	struct want x = { 0 }, y = { 0 }, z = { 0 };
	int64_t revision;

	member_begin();
	fake_store_mishaps(member_store, deny, NULL, NULL);
	member_up(&a, 0);
	member_up(&b, 1);
	asked_watch(a.e);
	want(&x, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted);
	revision = x.revision;
	denied = true;
	ok(claim_anchor(x.c), "a new revision is asked for");
	UNTIL(x.not_anchored);
	is(x.not_anchored, 1, "it is denied");
	is_str(x.why, "permission denied", "and told so");
	is(x.anchored + x.failed, 0, "and nothing else");
	denied = false;
	want(&y, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.recalled);
	is(y.granted, 0, "it is granted still");
	ok(claim_anchor(x.c), "it is asked for again");
	UNTIL(x.anchored);
	cmp(x.revision, >, revision, "with permission it is drawn");
	denied = true;
	ok(claim_anchor(x.c), "and again");
	loop_for(20);
	claim_leave(x.c);
	denied = false;
	UNTIL(y.granted && x.left);
	is(x.left, 1, "it is left meanwhile");
	is(x.not_anchored, 1, "and not told anything of it");
	want(&z, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(y.recalled);
	want_leave(&y);
	UNTIL(z.granted);
	is(z.granted, 1, "and had again");
	member_close(&a);
	member_close(&b);
	member_end();
	return done();
}
