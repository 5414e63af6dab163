/* SPDX-License-Identifier: MIT */
/* The wait queue of a key.  See wait_queue.c. */
#ifndef LHI_WAIT_QUEUE_H
#define LHI_WAIT_QUEUE_H

#include <leasehold/table.h>
#include "shm/view.h"

/* The first sort criterion of the queue: a waiter for an upgrade goes before
 * all others, of any priority.  Constant while the claim is linked (I2). */
static inline uint64_t
lhi_queue_rank(const struct shm_claim *c)
{
	return sh32_load(&c->wflags) & WAITER_UPGRADE ? UINT64_C(1) << 32 :
	    sh32_load(&c->priority);
}

/*
 * For a slot's first link of the wait queue: true if it keeps new requests off
 * the straight paths, because a claim is queued, or because the table was
 * removed by force, which the mark there says (shm/table_revoke.c).
 */
static inline bool
lhi_queue_stops(uint64_t l)
{
	return (l & MASK(CLAIM_BITS + 1)) != 0;
}

/*
 * True if no claim is queued for the slot's key, and its table is still in use.
 */
static inline bool
lhi_queue_is_empty(struct shm_slot *s)
{
	/* pairs with: queue insert, then the waiter's look at the word */
	return !lhi_queue_stops(sh64_load_sc(&s->waitq));
}

/* Links claim ci, whose slot, ticket and priority are set.  Returns 0;
 * -EUCLEAN. */
int lhi_queue_insert(struct lhi_view *v, struct shm_slot *s, uint32_t ci);

/*
 * Takes claim ci out, whether or not it is in.  When this returns 0, no link of
 * this queue leads to it.  Only for the claim's owner, or when its session is
 * dead.  Returns 0; -EUCLEAN.
 */
int lhi_queue_remove(struct lhi_view *v, struct shm_slot *s, uint32_t ci);

/* True if the claim is out of its queue: marked, or never in. */
bool lhi_queue_is_out(struct lhi_view *v, uint32_t ci);

/*
 * Finds the first waiter.  Removes claims that do not belong there on the way
 * (with `probe`, asks whether the first one's session is dead), passes over
 * suspects, and, for a reader, over other readers.  *first: the claim, `self`
 * itself included, or 0. Returns 0; -EUCLEAN.
 */
int lhi_queue_first(struct lhi_view *v, struct shm_slot *s, uint32_t self,
    bool reader, bool probe, uint32_t *first);

/* Wakes the first waiter that is not suspect, and the suspects before it; if it
 * is a reader, all readers before the next writer. */
void lhi_queue_wake_first(struct lhi_view *v, struct shm_slot *s);

/* True if the first in the queue, q being the queue's head, is awake or quietly
 * asleep, so that a release need not wake it.  (False when in doubt.) */
static inline bool
lhi_queue_tended(struct lhi_view *v, uint64_t q)
{
	struct shm_claim *c = lhi_claim(v, link_idx(q));

	/* pairs with: the waiter's swap of park before its last look */
	return c != NULL && sh32_load_sc(&c->park) != PARK_ASLEEP &&
	    !(sh32_load_rlx(&c->wflags) & (WAITER_SUSPECT | WAITER_UPGRADE));
}

/* True if a new request of any priority may overtake the queue whose head is q,
 * by the table's order and the first waiter's flags.  (False when in doubt.) */
static inline bool
lhi_queue_yields(struct lhi_view *v, uint64_t q)
{
	struct shm_claim *c = lhi_claim(v, link_idx(q));
	uint32_t no = WAITER_SUSPECT | WAITER_UPGRADE |
	    (v->order == LH_ORDER_BARGE ? 0 : WAITER_STARVING);

	return c != NULL && !link_marked(q) && v->order != LH_ORDER_FIFO &&
	    sh32_load_rlx(&c->priority) == 0 &&
	    !(sh32_load(&c->wflags) & no);
}

/*
 * A reader has left: if the first in the queue waits to be the only one, wake
 * it.  (Pairs with: the waiter's swap of park before its last look.)
 */
static inline void
lhi_queue_wake_upgrade(struct lhi_view *v, struct shm_slot *s)
{
	struct shm_claim *c = lhi_claim(v, link_idx(sh64_load_sc(&s->waitq)));

	if (c != NULL && (sh32_load(&c->wflags) & WAITER_UPGRADE))
		lhi_queue_wake_first(v, s);
}

/* Wake the waiter on that claim if it sleeps. */
void lhi_queue_wake(struct lhi_view *v, struct shm_claim *c);

/*
 * Mark suspect: claim ci and every other waiter of its session in this queue.
 */
void lhi_queue_suspect(struct lhi_view *v, struct shm_slot *s, uint32_t ci);

/*
 * Walk without changing anything.  fn gets each linked claim in order and may
 * return false to stop.  0; -EAGAIN: the queue kept moving; -EUCLEAN.
 */
int lhi_queue_walk(struct lhi_view *v, struct shm_slot *s,
    bool (*fn)(struct lhi_view *v, uint32_t ci, void *arg), void *arg);

#endif
