/* SPDX-License-Identifier: MIT */
/* A presented lease, checked: lease_check.c, lease_verify.c, lease_motion.c,
 * release.c. */
#ifndef LHI_LEASE_CHECK_H
#define LHI_LEASE_CHECK_H

#include <stddef.h>
#include <string.h>
#include "op/acquire.h"

/* Where a lease's grant is: all indexes in range, nothing else proved. */
struct lhi_held {
	struct lh *lh;
	struct shm_slot *slot;
	uint64_t slot_ref;	/* which life of it */
	struct shm_claim *claim;
	uint32_t ci;
	uint64_t id;		/* the lease's second half */
	uint64_t word;		/* exclusive: the lock word of this grant */
	uint64_t since;		/* of the claim, before its state was read */
	bool shared;
};

/*
 * Is this a lease?  0; -EINVAL (not a lease, or not in range), -EPERM (a forked
 * child); -ESTALE: its session has ended; -EALREADY: this struct was released.
 */
int lhi_lease_find(struct lh *lh, const struct lh_lease *l,
    struct lhi_held *h);

/*
 * And is it this attachment's, or a named session's?  The same, or -EPERM:
 * another session's.
 */
int lhi_lease_check(struct lh *lh, const struct lh_lease *l,
    struct lhi_held *h);

/*
 * Is the claim, in state st, in the use that this lease is of?  (id in full:
 * epoch and seq; and the token in full.)
 */
bool lhi_lease_current(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h, uint64_t st);

/* The use that a conversion or a hand-off moves a lease's claim to. */
static inline uint64_t
lhi_lease_moved_seq(uint64_t id)
{
	return (lid_seq(id) + CONVERT_STEP) & MASK(SEQ_BITS);
}

/*
 * And if it is not: is it held all the same, since somebody is, or was, in the
 * midst of converting it, or of handing it over?
 */
bool lhi_lease_in_motion(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h, uint64_t st);

/*
 * Of a claim that is a named session's (shm/session_named_end.c): it will move,
 * in the use that its keeper, we, is about to announce; it is moving, in the
 * state that we have made of it, if it still is in that; it is not any more.
 */
void lhi_lease_will_move(struct lh *lh, uint32_t ci, uint64_t st);
void lhi_lease_moves(const struct lhi_held *h, uint64_t moved);
void lhi_lease_at_rest(struct lh *lh, uint32_t ci, uint64_t st);

/*
 * Who began to convert it, or to hand it over, takes that back: the claim's
 * state, which he made `moved`, is `st` again, but for its deadline, which
 * another thread may have moved on.  False: the lease has ended meanwhile.
 */
bool lhi_lease_unmove(const struct lhi_held *h, uint64_t moved, uint64_t st);

/* Is `now` the state that he made, but for its deadline?  (For who has begun,
 * and for who has freed its word.) */
bool lhi_lease_moved(const struct lhi_held *h, uint64_t now, uint64_t seq);

/*
 * Does the key's word, now, grant it?  (A reader's grant is its claim's state,
 * HELD; its word only has to be somebody's shared one.)  And has the lease, if
 * it is of a cluster key, its right still?
 */
bool lhi_lease_granted(const struct lhi_held *h);

/* All of that, and the deadline: does it hold its key, the claim's state being
 * st?  MOVING: it does, but in another use (in motion). */
enum lhi_lease_is { LEASE_OVER, LEASE_HELD, LEASE_MOVING };
enum lhi_lease_is lhi_lease_now(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h, uint64_t st);

/*
 * The lease is past its deadline, or lost, or has no right any more: make it so
 * for all (G3), and say so: -ESTALE with a sentence.  Settle: whatever its
 * right.  LIVES: it is held, since whoever else presents it was quicker to
 * extend it: to be looked at once more.
 */
enum { LEASE_LIVES = 1 };	/* beside 0 and -errno */
int lhi_lease_enforce(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h);

/* It is one: is it held?  0, LEASE_LIVES, -errno. */
int lhi_lease_verify(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h);

/*
 * Its right, if it needs one, was just asked until when it is
 * (op/cluster_check.c):  is it held at a moment after that, so under that
 * right?  As above.
 */
int lhi_lease_told(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h);
int lhi_lease_settle(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h);

/*
 * The lease's right has ended: the lease has, too, for good and for all (G9).
 * -ESTALE with a sentence.
 */
int lhi_lease_lose_right(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h);

/* When does it end by itself, whatever its right? */
int64_t lhi_lease_own_end_ns(struct lh *lh, const struct lh_lease *l);

/* Has the lease's session, a named one, ended? */
bool lhi_lease_orphaned(struct lh *lh, const struct lh_lease *l);

/* It was released, the slow way: for who wants to know of every lease. */
void lhi_lease_ended(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h);

/*
 * Release the slow way (op/acquire_options.c): by `release`, and tell who else
 * keeps an account of the lease.
 */
int lhi_release_rare(struct lh *lh, struct lh_lease *l,
    int (*release)(struct lh *lh, struct lh_lease *l));

/* lh_release() in shared mode; without the accounts of others. */
int lhi_release_shared(struct lh *lh, struct lh_lease *l);
int lhi_release_reader(struct lh *lh, struct lh_lease *l);

/* An acquire gives back what it was granted: nobody has been told of it. */
int lhi_lease_give_back(struct lh *lh, struct lh_lease *l);

/*
 * How did a lease end that is lost?  CAUSE_RELEASED: it cannot be told any more
 * (or it was released).
 */
enum lhi_cause lhi_lease_cause(const struct lhi_held *h);

/* "It was lost", and why: -ESTALE with a sentence. */
int lhi_lease_lost(struct lh *lh, const struct lhi_held *h);

/* Has it been asked for since the last time?  1, 0; -errno. */
int lhi_lease_asked(struct lh *lh, const struct lh_lease *l);

/* Is l the lease that r remembers? */
static inline bool
lhi_lease_remembers(const struct lhi_claim_cache *m,
    const struct lhi_cached_claim *r, const struct lh_lease *l,
    enum lhi_use use)
{
	uint32_t kind, ours;

	/* mode and opaque in one */
	memcpy(&kind, &l->mode, sizeof(kind));
	memcpy(&ours, (const char *)&m->head +
	    offsetof(struct lh_lease, mode), sizeof(ours));
	return likely(r->use == use) && likely(r->id == l->id[1]) &&
	    likely(r->token == l->token) && likely(kind == ours) &&
	    likely(l->id[0] == lhi_claim_cache_sid(m)) &&
	    likely(l->key == sh64_own(&m->claims[r - m->rec].slot_ref));
}

/* What this thread's claim cache remembers of the lease, or NULL. */
static inline struct lhi_cached_claim *
lhi_lease_remembered(struct lh *lh, struct lhi_claim_cache *m,
    const struct lh_lease *l, enum lhi_use use)
{
	uint32_t bit;

	if (l == NULL || m->lh != lh)
		return NULL;
	bit = lid_claim(l->id[1]) - m->base;
	return bit < SHM_GROUP &&
	    lhi_lease_remembers(m, &m->rec[bit], l, use) ? &m->rec[bit] : NULL;
}

#endif
