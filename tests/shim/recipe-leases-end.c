/* SPDX-License-Identifier: MIT */
/*
 * Invariant MG4 of recipe.h: the lease of a dead session is ended in the end,
 * although it lasts a hundred years.  Also when the store had no leader just
 * then, when the answer to the session's end was lost, and when the host that
 * ended the session dies before it has ended the lease.  For a session that is
 * given back.
 *
 * Otherwise the store would fill with leases of dead hosts.
 */
#include "../tap.h"
#include "support/asked.h"
#include "support/member.h"

static struct member a, b, c;
static unsigned refuse;
static enum fake_mishap lose;
static bool miss;
static unsigned thief;		/* the host that ended a session last */

static enum fake_mishap
mishap(unsigned host, uint64_t call, void *arg)
{
	enum fake_mishap m = lose;

	(void)call;
	(void)arg;
	if (asked_to_revoke && refuse > 0) {
		refuse--;
		return FAKE_REFUSED;
	}
	if (!asked_to(KV_DELETE) || asked->n_compares != 1)
		return FAKE_NONE;
	thief = host;
	lose = FAKE_NONE;
	return m;
}

/* The second answer to ending a session comes before the news of the first. */
static int
lag(unsigned host, void *arg)
{
	(void)arg;
	if (host == 1 && miss && lose == FAKE_NONE) {
		miss = false;
		return FAKE_DROP;
	}
	return host == 1 ? 60 : 0;
}

static void
begin(void)
{
	a = b = c = (struct member){ 0 };
	member_begin();
	fake_store_mishaps(member_store, mishap, lag, NULL);
}

static void
no_leader(void)
{
	begin();
	member_up(&a, 0);
	asked_watch(a.e);
	refuse = 1;
	session_delete(&a);
	UNTIL(a.settled == 2);
	UNTIL(count_leases() == 1);
	is((int)refuse, 0, "there was no leader when it was to be ended");
	is(count_leases(), 1, "a lost session's lease is ended all the same");
	member_close(&a);
	member_end();
}

/* missed: only a look at everything shows its end */
static void
answer_lost(enum fake_mishap how, bool missed)
{
	begin();
	member_up(&a, 0);
	member_up(&b, 1);
	asked_watch(b.e);
	lose = how;
	miss = missed;
	member_close(&a);	/* as if killed */
	UNTIL(count_keys("test/s/") == 1);
	UNTIL(count_leases() == 1);
	ok(lose == FAKE_NONE && !miss,
	    "the answer to ending a dead session was lost");
	is(count_leases(), 1, "its lease is ended all the same");
	member_close(&b);
	member_end();
}

static void
thief_dies(void)
{
	struct member *other;

	begin();
	member_up(&a, 0);
	member_up(&b, 1);
	member_up(&c, 2);
	asked_watch(b.e);
	asked_watch(c.e);
	refuse = 1000;
	member_close(&a);	/* as if killed */
	UNTIL(count_keys("test/s/") == 2);
	is(count_leases(), 3, "the session was ended, and its lease not");
	other = thief == 1 ? &c : &b;
	member_close(thief == 1 ? &b : &c);
	refuse = 0;
	UNTIL(count_keys("test/s/") == 1);
	UNTIL(count_leases() == 1);
	is(count_leases(), 1, "another member ends it");
	member_close(other);
	member_end();
}

static void
retired(void)
{
	begin();
	member_up(&a, 0);
	asked_watch(a.e);
	refuse = 5;
	recipe_retire(a.r);
	UNTIL(a.retired);
	is((int)refuse, 0, "there was no leader when it was to be ended");
	is(count_leases(), 0, "the lease of a session given back is ended");
	member_close(&a);
	member_end();
}

int
main(void)
{
	no_leader();
	answer_lost(FAKE_BROKEN_APPLIED, false);
	answer_lost(FAKE_LOST_ANSWER, true);
	thief_dies();
	retired();
	return done();
}
