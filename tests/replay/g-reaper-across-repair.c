/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G2, crash rows RE4 and RE5: a repair waits until no reaper
 * is in a pass, and keeps new passes from starting.
 *
 * A reaper has no session.  It is stopped in an eviction, with a bucket's word
 * and a slot's link read; a repair must be refused or wait, because it makes
 * all buckets anew.  During a repair a reaper must begin nothing; a request to
 * leave that a killed repair left behind must be cleared.
 *
 * Otherwise the reaper's late swap would succeed in the repaired table: a key
 * that is held would be out of the list, made a second time, and granted twice.
 */
#include <string.h>
#include "reaper/reap_ops.h"
#include "proc/attachment.h"
#include "replay.h"
#include <leasehold/repair.h>

static const char *table;
static struct lhi_reaper *r;

/* Passes five times: a key is evicted when it was idle at an earlier pass. */
static int
reap(void *arg)
{
	int64_t next;
	int result = 0;

	(void)arg;
	for (int i = 0; i < 5; i++) {
		r->walk_ns = 0;
		r->slot_hand = 0;
		result |= lhi_reap_pass(r, t_now_ns(), &next);
		t_sleep_ms(5);
	}
	return result;
}

/* Leaves a free key in a damaged table that nobody uses. */
static void
leave_key(void)
{
	struct lh *lh = replay_open(table, 0);
	struct lh_lease l = t_hold(lh, "k");

	is(lh_release(lh, &l), 0, "a key");
	(void)sh32_fetch_or(&lh->v.hdr->flags, SHM_DAMAGED);
	is(lh_close(lh), 0, "nobody is attached");
}

static void
stop_reaper(const char *point)
{
	replay_stop("reaper", point, reap, NULL);
}

/* Stops the reaper when it has read what its next swap expects. */
static void
stop_reaper_in_walk(void)
{
	stop_reaper("evict.marked");
	replay_stop_next("reaper", "index.node_read");
}

/* Checks that the key is granted once. */
static void
granted_once(void)
{
	struct lh *a = replay_open(table, 0), *b = replay_open(table, 0);
	struct lh_lease mine, l;

	is(replay_try(a, "k", &mine), 0, "the key is granted");
	is(reap(NULL), 0, "the reaper passes");
	is(replay_try(b, "k", &l), -EAGAIN, "another is refused");
	is(lh_verify(a, &mine), 0, "it is held");
	is(lh_release(a, &mine), 0, "release");
	is(t_findings(a), 0, "the table is sound");
	is(lh_close(b), 0, "close");
	t_close(a);
}

static void
refused(void)
{
	leave_key();
	stop_reaper_in_walk();
	is(replay_repair(NULL), -EBUSY, "no repair while a reaper is stopped");
	ok(strstr(lh_error_detail(), "reaper") != NULL,
	    "and the error names it: %s", lh_error_detail());
	is(replay_finish("reaper"), 0, "the reaper goes on");
	replay_go("repairer", replay_repair, NULL);
	t_sleep_ms(20);
	is(reap(NULL), 0, "the reaper is asked to leave");
	cmp(replay_result("repairer"), >, 0, "then the table is repaired");
	granted_once();
}

/* True if the repair waited for the reaper; it waits 0.2 s at most, so that a
 * busy machine may need another try. */
static bool
waits(void *point)
{
	bool waited;
	int found;

	leave_key();
	stop_reaper(point);
	replay_go("repairer", replay_repair, NULL);
	t_sleep_ms(30);
	waited = replay_running("repairer");
	replay_release("reaper");
	found = replay_result("repairer");
	is(replay_result("reaper"), 0, "the reaper goes on");
	return waited && found > 0;
}

/* Holds a repair in its midst.  It waits for reapers as `waits` says. */
static bool
comes_to_midst(void *unused)
{
	(void)unused;
	replay_hold("repairer", "mend.forgotten");
	(void)replay_fork("repairer", replay_repair, NULL);
	t_sleep_ms(30);
	is(reap(NULL), 0, "a reaper is asked to leave");
	if (replay_comes("repairer"))
		return true;
	(void)replay_result("repairer");
	return false;
}

static void
bars(void)
{
	leave_key();
	ok(t_tries(3, comes_to_midst, NULL), "then the table is repaired");
	r->counts.passes = 0;
	is(reap(NULL), 0, "a reaper starts during a repair");
	is(r->counts.passes, 0, "and begins no pass");
	cmp(replay_finish("repairer"), >, 0, "the repair ends");
	granted_once();
}

/* A reaper that clears the request of a killed repair also clears that of the
 * next repair, which must set it again. */
static void
wish_taken_back(void)
{
	leave_key();
	(void)sh32_fetch_or(&r->v.hdr->flags, SHM_WANTED);
	stop_reaper("and");
	replay_go("repairer", replay_repair, NULL);
	t_sleep_ms(20);
	is(replay_finish("reaper"), 0, "the reaper passes");
	for (int i = 0; i < 20 && replay_running("repairer"); i++)
		(void)reap(NULL);
	cmp(replay_result("repairer"), >, 0, "the table is repaired");
	granted_once();
}

int
main(void)
{
	const struct lhi_reap_opts opts = { .evict_idle_ms = 1 };
	char points[][16] = { "evict.dying", "evict.committed" };

	table = replay_begin();
	leave_key();
	if (lhi_reap_open(&r, t_object(table)) != 0)
		bail_out("no reaper: %s", lh_error_detail());
	r->budget_ns = NS_PER_SEC;
	lhi_reap_set(r, &opts);
	refused();
	for (int i = 0; i < 2; i++) {
		ok(t_tries(3, waits, points[i]),
		    "%s: a repair waits until the reaper's pass has ended",
		    points[i]);
		granted_once();
	}
	bars();
	wish_taken_back();
	lhi_reap_close(r);
	return done();
}
