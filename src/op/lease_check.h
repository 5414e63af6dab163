/* SPDX-License-Identifier: MIT */
/* A presented lease: found and checked (lease_check.c), verified
 * (lease_verify.c), being converted or handed over (lease_motion.c). */
#ifndef LHI_LEASE_CHECK_H
#define LHI_LEASE_CHECK_H

#include <stddef.h>
#include <string.h>
#include "op/acquire.h"

/* Where a lease's grant is.  All indexes are in range; nothing else is
 * proved. */
struct lhi_held {
	struct lh *lh;
	struct shm_slot *slot;
	uint64_t slot_ref;	/* the life of the slot */
	struct shm_claim *claim;
	uint32_t ci;
	uint64_t sid;		/* the session of the lease */
	uint64_t id;		/* second half of the lease's id */
	uint64_t word;		/* exclusive: the lock word of this grant */
	uint64_t since;		/* the claim's `since`, read before its state */
	bool shared;
};

/* lease_check.c: checks that a lease with that id can belong to this table.
 * Returns 0, or -ESTALE if this table never had its session. */
int lhi_lease_check_table(struct lh *lh, const uint64_t id[2]);

/* Finds the grant of a lease.  Returns 0; -EINVAL (no lease, or not in range);
 * -EPERM (a forked child); -ESTALE if it belongs to another table or its
 * session has ended; -EALREADY if this struct was released. */
int lhi_lease_find(struct lh *lh, const struct lh_lease *l,
    struct lhi_held *h);

/* The same, and checks that the lease belongs to this attachment or to a named
 * session.  Also returns -EPERM if it belongs to another session. */
int lhi_lease_check(struct lh *lh, const struct lh_lease *l,
    struct lhi_held *h);

/* Returns the session of the lease. */
static inline uint64_t
lhi_lease_sid(const struct lh *lh, const struct lh_lease *l)
{
	return lhi_view_session_of(&lh->v, l->id[0]);
}

/* True if the lease's session, a named one, has ended. */
bool lhi_lease_is_orphaned(struct lh *lh, const struct lh_lease *l);

/* Returns how a lease that is lost has ended.  CAUSE_RELEASED: it was released,
 * or it is not known any more. */
enum lhi_cause lhi_lease_cause(const struct lhi_held *h);

/* Returns the key of a lease in words: in quotes, or that it was forgotten. */
#define LEASE_NAME_MAX 80
const char *lhi_lease_key_name(const struct lhi_held *h,
    char buf[LEASE_NAME_MAX]);

/* Fails with -ESTALE and a sentence that says how the lease was lost. */
int lhi_lease_fail_lost(struct lh *lh, const struct lhi_held *h);

/*
 * lease_verify.c.  True if state st of the claim belongs to the lease's use of
 * it (epoch, seq and token match in full).
 */
bool lhi_lease_is_current(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h, uint64_t st);

/* Returns the use to which a conversion or a hand-off moves a lease's claim. */
static inline uint64_t
lhi_lease_moved_seq(uint64_t id)
{
	return (lid_seq(id) + CONVERT_STEP) & MASK(SEQ_BITS);
}

/* True if the claim is in the next use and the lease is held all the same: a
 * process converts it or hands it over, or was killed while it did. */
bool lhi_lease_is_moving(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h, uint64_t st);

/* True if the key's word grants the lease now, and the right of a cluster key
 * is still valid.  (A reader's grant is its claim's state; its word only has to
 * be a shared one.) */
bool lhi_lease_is_granted(const struct lhi_held *h);

/* Returns whether the lease holds its key, if the claim's state is st: all of
 * the above, and the deadline.  LEASE_MOVING: it does, in the next use. */
enum lhi_lease_status { LEASE_OVER, LEASE_HELD, LEASE_MOVING };
enum lhi_lease_status lhi_lease_status(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h, uint64_t st);

/*
 * Ends a lease for everybody (guarantee G3) that is past its deadline, lost, or
 * without its right, and fails with -ESTALE and a sentence.  Returns
 * LEASE_LIVES if another thread was faster to extend the lease: look again.
 */
enum { LEASE_LIVES = 1 };	/* besides 0 and -errno */
int lhi_lease_enforce(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h);

/* Returns 0 if the lease is held; LEASE_LIVES; -errno. */
int lhi_lease_verify(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h);

/* The same for a lease that another thread may extend or convert meanwhile:
 * never LEASE_LIVES. */
int lhi_lease_verify_moving(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h) __attribute__((noinline, cold));

/*
 * The same after the caller has re-read the expiry of the cluster right, if the
 * lease needs one: 0 if it is held at a moment after that, so under that right.
 */
int lhi_lease_verify_again(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h);

/* Ends a lease whose cluster right has ended, for everybody and for ever
 * (guarantee G9), and fails with -ESTALE and a sentence. */
/* Returns the key that the lease names, and which life of its slot: of those
 * whose numbers have the lower bits that the lease has, the latest one.  slot
 * is NULL if there is no such slot. */
struct lhi_ref lhi_lease_ref(struct lhi_view *v, const struct lh_lease *l);

int lhi_lease_lose_right(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h);

/* Returns when the lease ends by itself, whatever its right. */
int64_t lhi_lease_own_end_ns(struct lh *lh, const struct lh_lease *l);

/*
 * lease_motion.c, for claims of named sessions; others need no mark.  They mark
 * claim ci as moving in state st, which the caller, its keeper, is about to
 * announce; mark it as moving, if it is still in the state that the caller has
 * written; and clear the mark.
 */
void lhi_lease_mark_claim_moving(struct lh *lh, uint32_t ci, uint64_t st);
void lhi_lease_mark_moving(const struct lhi_held *h, uint64_t moved);
void lhi_lease_clear_moving(struct lh *lh, uint32_t ci, uint64_t st);

/*
 * Undoes a conversion or a hand-off that the caller has started: changes the
 * claim's state from `moved` back to st; keeps a deadline that another thread
 * has extended.  False: the lease has ended meanwhile.
 */
bool lhi_lease_undo_move(const struct lhi_held *h, uint64_t moved, uint64_t st);

/* True if state `now` is the caller's state of use seq, apart from the
 * deadline. */
bool lhi_lease_is_moved(const struct lhi_held *h, uint64_t now, uint64_t seq);

/* break.c.  Returns 1 if another process has asked for the lease since the last
 * call, 0, or -errno. */
int lhi_lease_was_asked(struct lh *lh, const struct lh_lease *l);

/* True if l is the lease that r remembers. */
static inline bool
lhi_lease_is_cached(const struct lhi_claim_cache *m,
    const struct lhi_cached_claim *r, const struct lh_lease *l,
    enum lhi_use use)
{
	return likely(lhi_cached_claim_now(r) == use) &&
	    likely(r->id == l->id[1]) &&
	    likely(r->token == l->token) &&
	    /* (before its claims are looked at: not of a closed table) */
	    likely(l->id[0] == lhi_claim_cache_session_id(m)) &&
	    likely(((lhi_lease_head(l) ^ lhi_lease_head_of(sh64_own(
	    &m->claims[r - m->rec].slot_ref), LH_EXCLUSIVE)) &
	    ~LEASE_NOTES) == 0);
}

/* True if l is the lease of claim 0, which is held exclusively, and neither has
 * notes.  This is lhi_lease_is_cached() with one jump.  It loads eight bytes at
 * a time, as the caller may have written them: wider loads would have to wait
 * for those stores. */
static inline __attribute__((always_inline)) bool
lhi_lease_is_of_claim_0(const struct lhi_claim_cache *m,
    const struct lh_lease *l)
{
	const struct lhi_cached_claim *r = &m->rec[0];

	return likely(r->word & WORD_IS_X) &&
	    likely(((lhi_lease_head(l) ^ m->head_0[0]) |
	    (l->id[0] ^ m->head_0[1]) | (l->id[1] ^ r->id) |
	    (l->token ^ r->token)) == 0);
}

/* Returns what this thread's claim cache remembers of the lease, or NULL. */
static inline struct lhi_cached_claim *
lhi_lease_cached_claim(struct lh *lh, struct lhi_claim_cache *m,
    const struct lh_lease *l, enum lhi_use use)
{
	uint32_t bit;

	if (l == NULL || m->lh != lh)
		return NULL;
	bit = lid_claim(l->id[1]) - m->base;
	return bit < SHM_GROUP &&
	    lhi_lease_is_cached(m, &m->rec[bit], l, use) ? &m->rec[bit] : NULL;
}

/* As lh_extend(), but a deadline that is later already stays.  extend.c */
int lhi_extend_later(struct lh *lh, struct lh_lease *l, int64_t ttl_ms);

#endif
