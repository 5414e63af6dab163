/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G6 and G7, crash row M1: after a repair no queue has a waiter,
 * also not the queue of a slot that is no key any more.
 *
 * A slot's key is damaged, so that a repair cannot read it; the front of its
 * queue is a claim that is free after the repair.  The claim's next owner waits
 * with it for another key.  When a new key is made in that slot, its maker must
 * not remove the waiter from the queue of the other key.
 *
 * Otherwise a live waiter would lose its place, or would never be woken.
 */
#include "proc/attachment.h"
#include "replay.h"
#include "shm/wait_queue.h"
#include "support/object.h"
#include <leasehold/repair.h>

#define KEPT "kept"		/* in neighbouring slots, in this order */
#define LOST "lost"
#define LAST "last"

static const char *table;

/* Is killed while it holds the second of three keys. */
static int
hold(void *arg)
{
	struct lh *lh = replay_open(table, 0);
	struct lh_lease kept = t_hold(lh, KEPT), lost = t_hold(lh, LOST);
	struct lh_lease last = t_hold(lh, LAST);

	(void)arg;
	(void)lh_release(lh, &kept);
	(void)lh_release(lh, &last);
	return lh_release(lh, &lost);
}

static int
wait_for_lost(void *arg)
{
	struct replay_call c = REPLAY_CALL(replay_open(table, 0), LOST,
	    REPLAY_LONG_MS, REPLAY_LONG_MS);

	(void)arg;
	return replay_acquire(&c);
}

/* Leaves a killed waiter in the queue of a damaged key: its claim. */
static uint32_t
leave_queue(void)
{
	struct t_object o;
	struct lh *lh;
	uint32_t i, first;

	replay_hold_nth("holder", "release.word_freed", 2);
	(void)replay_fork("holder", hold, NULL);
	replay_wait_held("holder");
	(void)replay_fork("waiter", wait_for_lost, NULL);
	lh = replay_open(table, 0);
	ok(t_await_waiters(lh, LOST, 1), "a waiter is queued");
	is(lh_close(lh), 0, "close");
	replay_kill("waiter");
	replay_kill("holder");
	o = t_map_object(table);
	i = t_slot_of(&o, LOST);
	first = link_idx(sh64_load(&o.slots[i].waitq));
	cmp(first, !=, 0, "and is killed in its queue");
	sh64_store(&o.slots[i].key[0], 0x4141);
	t_unmap_object(&o);
	return first;
}

/* A waiter with that claim, to which the slot's queue had led. */
static void
waits_undisturbed(uint32_t ci)
{
	struct replay_call c = REPLAY_CALL(replay_open(table, 0), KEPT,
	    REPLAY_LONG_MS, REPLAY_MS);
	struct lh *lh = replay_open(table, 0), *maker;
	struct lh_lease kept = t_hold(lh, KEPT), l;
	struct t_object o = t_map_object(table);
	uint32_t i = t_slot_of(&o, KEPT);
	uint64_t link;

	is(link_idx(sh64_load(&o.slots[i + 1].waitq)), 0,
	    "the queue of the lost one's slot is empty");
	replay_go("next", replay_acquire, &c);
	ok(t_until(t_ms(REPLAY_MS), link_idx(sh64_load(&o.slots[i].waitq)) !=
	    0), "another waiter is queued");
	is(link_idx(sh64_load(&o.slots[i].waitq)), ci, "with that claim");
	link = sh64_load(&lh->v.claims[ci].wnext);
	maker = replay_open(table, 0);
	is(replay_try(maker, "new", &l), 0, "a key is made");
	is(l.key & UINT32_MAX, i + 1, "in the lost one's slot");
	is_u64(sh64_load(&lh->v.claims[ci].wnext), link,
	    "the waiter's link is unchanged");
	is(link_idx(sh64_load(&o.slots[i].waitq)), ci,
	    "the waiter is still first");
	is(lh_release(lh, &kept), 0, "the holder releases");
	is(replay_result("next"), 0, "the waiter acquires the key");
	is(lh_release(c.lh, &c.lease), 0, "release");
	is(lh_release(maker, &l), 0, "release");
	is(lh_close(maker), 0, "close");
	t_unmap_object(&o);
	is(lh_close(c.lh), 0, "close");
	t_close(lh);
}

int
main(void)
{
	uint32_t ci;

	table = replay_begin();
	ci = leave_queue();
	cmp(lh_table_repair(table, 0, NULL, NULL), >, 0, "it is repaired");
	waits_undisturbed(ci);
	return done();
}
