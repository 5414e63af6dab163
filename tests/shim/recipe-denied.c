/* SPDX-License-Identifier: MIT */
/*
 * doc/cluster.md, "permission taken away": an operator takes this host's
 * permission to write a key away, at each moment in the life of a claim.  The
 * claim is queued, its first answer is lost, it is granted, it is left, or a
 * dead host's session is to be ended.  The claim's owner must learn of it,
 * other keys must go on, and with permission again nothing may be left behind.
 *
 * Otherwise one forbidden key would keep other keys from being granted, or a
 * dead host's key would stay held for ever.
 */
#include <errno.h>
#include <string.h>
#include "../tap.h"
#include "support/asked.h"
#include "support/member.h"

static struct member a, b;
static bool denied;		/* the permission is missing now */
static unsigned calls;		/* that a rule has counted */
static enum fake_mishap first;	/* of the first call of lost_answer() */

/* Rules: the fate of a call, which is denied as etcd does it: the whole
 * transaction for one key of it. */
static enum fake_mishap
new_revision_of_a(unsigned host)
{
	return host == 0 && denied && asked_to(KV_PUT) &&
	    asked->n_compares == 2 ? FAKE_DENIED : FAKE_NONE;
}

static enum fake_mishap
key_of_a(unsigned host)
{
	return host == 0 && denied && asked_to_write("/q/denied/") ?
	    FAKE_DENIED : FAKE_NONE;
}

static enum fake_mishap
key_and_lease_of_b(unsigned host)
{
	if (host != 1 || !denied)
		return FAKE_NONE;
	return asked_to_write("/q/denied/") || (asked_to_revoke &&
	    count_keys("test/q/denied/") > 0) ? FAKE_DENIED : FAKE_NONE;
}

static enum fake_mishap
first_end_by_b(unsigned host)
{
	if (host != 1 || calls > 0 || !asked_to(KV_DELETE) ||
	    asked->n_compares != 1)
		return FAKE_NONE;
	calls++;
	return FAKE_DENIED;
}

static enum fake_mishap
all_but_heartbeats(unsigned host)
{
	(void)host;
	if (!denied || asked == NULL || asked->n_then == 0 ||
	    asked->then[0].what == KV_GET || asked->n_otherwise == 1)
		return FAKE_NONE;
	return calls++ == 0 ? first : FAKE_DENIED;
}

/* The claim is granted: it may draw no new revision, but stays granted. */
static void
granted(void)
{
	struct want x = { 0 }, y = { 0 }, z = { 0 };
	int64_t revision;

	want(&x, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted);
	revision = x.revision;
	denied = true;
	ok(claim_anchor(x.c), "a new revision is requested");
	UNTIL(x.not_anchored);
	is(x.not_anchored, 1, "the request is denied");
	is_str(x.why, "permission denied", "with that reason");
	is(x.anchored + x.failed, 0, "and has no other result");
	denied = false;
	want(&y, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.recalled);
	is(y.granted, 0, "the key is still granted to its owner");
	ok(claim_anchor(x.c), "the revision is requested again");
	UNTIL(x.anchored);
	cmp(x.revision, >, revision, "with permission it is drawn");
	denied = true;
	ok(claim_anchor(x.c), "and requested once more");
	loop_for(20);
	claim_leave(x.c);
	denied = false;
	UNTIL(y.granted && x.left);
	is(x.left, 1, "the claim is left meanwhile");
	is(x.not_anchored, 1, "and the denial is not reported");
	want(&z, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(y.recalled);
	want_leave(&y);
	UNTIL(z.granted);
	is(z.granted, 1, "the key is granted again");
}

/* A dead host had the key, and another one: its lease cannot be revoked, for
 * etcd looks at all keys under it. */
static void
owner_dies(void)
{
	struct want x = { 0 }, y = { 0 }, z = { 0 };

	want(&x, &a, "denied", CLAIM_EXCLUSIVE, 0);
	want(&y, &a, "other", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted && y.granted);
	want(&z, &b, "other", CLAIM_EXCLUSIVE, 0);
	UNTIL(y.recalled);
	denied = true;
	member_close(&a);		/* as if killed */
	UNTIL(z.granted);
	is(z.granted, 1, "the waiter gets the key that it may write");
	is((int)count_keys("test/q/denied/"), 1, "the other key stays");
	denied = false;
	UNTIL(count_keys("test/q/denied/") == 0);
	is((int)count_keys("test/q/denied/"), 0, "until it may be written");
	UNTIL(count_leases() == 1);
	is(count_leases(), 1, "and the dead session's lease is ended");
}

/* The claim is queued, alone and together with a claim of another key. */
static void
queued(void)
{
	static const char *const names[] = { "denied", "other" };
	struct want w[2] = { { 0 }, { 0 } }, x = { 0 }, y = { 0 };

	want(&x, &b, "denied", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted);
	want_many(w, 2, &a, names, CLAIM_SHARED, 0);
	UNTIL(x.recalled && w[1].granted);
	loop_for(100);
	denied = true;
	want_leave(&x);
	want(&y, &b, "other", CLAIM_EXCLUSIVE, 0);
	UNTIL(w[1].recalled && w[0].failed);
	is(w[0].error, EACCES, "the queued claim fails");
	is(w[1].failed, 0, "the one beside it was granted before");
	denied = false;
	want_leave(&w[1]);
	UNTIL(y.granted);
	is(y.granted, 1, "another host gets the other key");
	UNTIL(count_keys("test/q/denied/") == 0);
	is((int)count_keys("test/q/denied/"), 0, "with permission the claim "
	    "is deleted");
}

/* The claim is left, together with a claim of another key. */
static void
left(void)
{
	struct want x = { 0 }, y = { 0 }, z = { 0 };

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
	is(y.left, 1, "the other key is given back");
	is(z.granted, 1, "and granted to the other host");
	is(x.left, 0, "the denied key is not given back");
	denied = false;
	UNTIL(x.left);
	is(x.left, 1, "until there is permission");
}

/* A dead session is to be ended; nobody else is there to notice it later. */
static void
session_is_ended(void)
{
	struct want x = { 0 }, y = { 0 };

	want(&x, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.granted);
	want(&y, &b, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(x.recalled);
	member_close(&a);		/* as if killed */
	UNTIL(y.granted);
	is((int)calls, 1, "the first try to end the session is denied");
	is(y.granted, 1, "the waiter gets the key in the end");
}

/* The first answer is lost, and all later calls are denied. */
static void
lost_answer(void)
{
	static const enum fake_mishap fates[] = { FAKE_BROKEN,
	    FAKE_BROKEN_APPLIED, FAKE_BROKEN_LATE };

	for (int i = 0; i < 6; i++) {
		struct want x = { 0 };

		first = fates[i % 3];
		calls = 0;
		denied = true;
		want(&x, &a, "k", CLAIM_EXCLUSIVE, i < 3 ? 0 : CLAIM_TRY);
		UNTIL(x.failed);
		is(x.error, EACCES, "%s, fate %d: the claim fails",
		    i < 3 ? "wait" : "try", i % 3);
		denied = false;
		loop_for(200);
		UNTIL(count_keys("test/q/") == 0);
		is((int)count_keys("test/q/"), 0, "and leaves nothing");
		if (x.c != NULL)
			want_leave(&x);
	}
}

static const struct row {
	const char *when;
	void (*play)(void);
	enum fake_mishap (*rule)(unsigned host);
	unsigned watched;	/* the host whose calls the rule looks at */
	unsigned ttl_ms;
	bool a_dies;
} rows[] = {
	{ "granted", granted, new_revision_of_a, 0, 0, false },
	{ "owner dies", owner_dies, key_and_lease_of_b, 1, 1000, true },
	{ "queued", queued, key_of_a, 0, 1000, false },
	{ "left", left, key_of_a, 0, 1000, false },
	{ "session is ended", session_is_ended, first_end_by_b, 1, 1000, true },
	{ "answer is lost", lost_answer, all_but_heartbeats, 0, 60000, false },
};

static const struct row *row;

static enum fake_mishap
mishap(unsigned host, uint64_t call, void *arg)
{
	(void)call;
	(void)arg;
	return row->rule(host);
}

int
main(void)
{
	unsigned usual_ttl_ms = member_ttl_ms;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		row = &rows[i];
		diag("permission is missing: %s", row->when);
		member_ttl_ms = row->ttl_ms != 0 ? row->ttl_ms : usual_ttl_ms;
		denied = false;
		calls = 0;
		memset(&a, 0, sizeof(a));
		memset(&b, 0, sizeof(b));
		member_begin();
		fake_store_mishaps(member_store, mishap, NULL, NULL);
		member_up(&a, 0);
		if (row->play != lost_answer)
			member_up(&b, 1);
		asked_watch(row->watched == 0 ? a.e : b.e);
		row->play();
		if (!row->a_dies)
			member_close(&a);
		if (row->play != lost_answer)
			member_close(&b);
		member_end();
	}
	return done();
}
