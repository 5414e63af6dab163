/* SPDX-License-Identifier: MIT */
/*
 * The first answer about a key that we may not write is lost; all later ones
 * are that it is not permitted.  Who waits is told.  What was done of it after
 * all is taken back when it may be.
 */
#include <errno.h>
#include "../tap.h"
#include "support/asked.h"
#include "support/member.h"

static struct member a;
static enum fake_mishap first;
static unsigned n;
static bool denied;

static enum fake_mishap
mishap(unsigned host, uint64_t call, void *arg)
{
	(void)host;
	(void)call;
	(void)arg;
	if (!denied || asked == NULL || asked->n_then == 0 ||
	    asked->then[0].what == KV_GET || asked->n_otherwise == 1)
		return FAKE_NONE;	/* a heartbeat */
	return n++ == 0 ? first : FAKE_DENIED;
}

static void
run(enum fake_mishap m, unsigned flags)
{
	struct want x = { 0 };

	first = m;
	n = 0;
	denied = true;
	want(&x, &a, "k", CLAIM_EXCLUSIVE, flags);
	UNTIL(x.failed);
	is(x.error, EACCES, "it is told that it may not");
	denied = false;
	loop_for(200);
	UNTIL(count_keys("test/q/") == 0);
	is((int)count_keys("test/q/"), 0, "nothing stays");
	if (x.c != NULL)
		want_leave(&x);
}

int
main(void)
{
	member_ttl_ms = 60000;
	member_begin();
	fake_store_mishaps(member_store, mishap, NULL, NULL);
	member_up(&a, 0);
	asked_watch(a.e);
	run(FAKE_BROKEN, 0);
	run(FAKE_BROKEN_APPLIED, 0);
	run(FAKE_BROKEN_LATE, 0);
	run(FAKE_BROKEN, CLAIM_TRY);
	run(FAKE_BROKEN_APPLIED, CLAIM_TRY);
	run(FAKE_BROKEN_LATE, CLAIM_TRY);
	member_close(&a);
	member_end();
	return done();
}
