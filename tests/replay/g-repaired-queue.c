/* SPDX-License-Identifier: MIT */
/*
 * G6, G7: after a repair no queue has anybody in it, also not that of a slot
 * that is no key any more.
 *
 * A repair emptied the queues of keys only.  A slot whose key could not be read
 * kept the front of its queue, a claim that was free by then.  Its next owner
 * waited with it for another key; somebody made a new key in that slot, looked
 * who was first there, saw a waiter for something else, and threw it out of the
 * queue in which it was.
 */
#include "proc/attachment.h"
#include "replay.h"
#include "shm/wait_queue.h"
#include "support/object.h"
#include <leasehold/repair.h>

#define KEPT "kept"		/* each is in a slot, in this order */
#define LOST "lost"
#define LAST "last"

static const char *table;

/* Dies while it holds the second of three keys. */
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

/* Killed in a queue, whose key is then damaged.  Who was first in it. */
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
	ok(t_await_waiters(lh, LOST, 1), "one waits for a key");
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

/* A waiter with that very claim, of which a slot had known. */
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
	    0), "another waits");
	is(link_idx(sh64_load(&o.slots[i].waitq)), ci, "with that claim");
	link = sh64_load(&lh->v.claims[ci].wnext);
	maker = replay_open(table, 0);
	is(replay_try(maker, "new", &l), 0, "a key is made");
	is(l.key & UINT32_MAX, i + 1, "in the lost one's slot");
	is_u64(sh64_load(&lh->v.claims[ci].wnext), link,
	    "nobody is thrown out of a queue, not even to come back");
	is(link_idx(sh64_load(&o.slots[i].waitq)), ci, "it is the first still");
	is(lh_release(lh, &kept), 0, "it is its turn");
	is(replay_result("next"), 0, "which it has");
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
