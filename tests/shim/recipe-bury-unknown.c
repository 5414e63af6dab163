/* SPDX-License-Identifier: MIT */
/*
 * A host died that had a key which we may not write any more: its lease is not
 * ours to revoke.  When the key may be written again it is deleted, and the
 * answer to that is lost.  The lease of the dead session is ended all the same
 * (R4): nothing else leads to it any more.
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
static unsigned lost;

static bool
deletes_it(void)
{
	for (size_t i = 0; asked != NULL && i < asked->n_then; i++)
		if (asked->then[i].what == KV_DELETE &&
		    memmem(asked->then[i].range.key.p,
		    asked->then[i].range.key.len, "/q/denied/", 10) != NULL)
			return true;
	return false;
}

static enum fake_mishap
mishap(unsigned host, uint64_t call, void *arg)
{
	(void)call;
	(void)arg;
	if (host != 1)
		return FAKE_NONE;
	if (denied && (is_revoke ? count_keys("test/q/denied/") > 0 :
	    deletes_it()))
		return FAKE_DENIED;
	if (!denied && deletes_it() && lost == 0) {
		lost++;
		return FAKE_LOST_ANSWER;
	}
	return FAKE_NONE;
}

static int
note_revoke(struct engine *e, int64_t lease, int timeout_ms, kv_answer_fn *fn,
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
	struct want x = { 0 };

	member_ttl_ms = 500;
	member_begin();
	fake_store_mishaps(member_store, mishap, NULL, NULL);
	member_up(&a, 0);
	member_up(&b, 1);
	asked_watch(b.e);
	theirs = b.e->ops;
	ours = *theirs;
	ours.revoke = note_revoke;
	b.e->ops = &ours;
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
	UNTIL(leases() == 1);
	is(leases(), 1, "the dead session's lease is ended");
	member_close(&b);
	member_end();
	return done();
}
