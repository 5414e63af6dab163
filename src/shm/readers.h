/* SPDX-License-Identifier: MIT */
/* The readers of a key: the chain in its lock word.  See readers.c. */
#ifndef LHI_READERS_H
#define LHI_READERS_H

#include "base/clock.h"
#include "shm/view.h"

/* After a revocation readers do not stay in the chain for so long. */
#define PAUSE_MS 20u

/*
 * Claim c, the caller's own and in no chain, will stand before `head` (0: it is
 * the first).  To be followed by its announcement and the word's swap.
 */
static inline void
lhi_readers_prepare(struct shm_claim *c, uint32_t head)
{
	uint64_t mine = sh64_load_rlx(&c->rnext);

	/* who sees it sees that the use before has ended (op/lease_verify.c) */
	sh64_store(&c->rnext, link_make(false, head, link_tag(mine) + 1));
}

/*
 * The version of a reader's push, kept with its claim (the word has the last
 * one's only): its token follows from it.  Written before the push, together
 * with the number of the claim's use, so that no value comes back.
 */
static inline uint64_t
lhi_reader_grant(uint64_t ver, uint64_t seq)
{
	return ver << GRANT_SHIFT | (seq & MASK(SEQ_BITS));
}

static inline uint64_t
lhi_reader_token(struct shm_slot *s, const struct shm_claim *c)
{
	return token_of(sh64_load(&s->hint),
	    sh64_load_rlx(&c->grant) >> GRANT_SHIFT);
}

/*
 * How many uses of its claim after that push is use seq?  A claim is revived in
 * one push less than REVIVED_MAX times, and CONVERT_STEP is more: so of a lease
 * in use seq, what is CONVERT_STEP further on is that very lease in motion (17,
 * 21), and none that was revived.
 */
#define REVIVED_MAX (UINT64_C(1) << (lhi_mutant_on(revived_often) ? 40 : 20))

static inline uint64_t
lhi_reader_revived(const struct shm_claim *c, uint64_t seq)
{
	return (seq - sh64_load_rlx(&c->grant)) & MASK(SEQ_BITS);
}

/* Can a lease of that push have been in use seq, at rest? */
static inline bool
lhi_reader_may_move(const struct shm_claim *c, uint64_t seq)
{
	return lhi_reader_revived(c, seq) < REVIVED_MAX;
}

/* Whoever has unlinked c, whose link was l, says so: no need to walk then. */
static inline void
lhi_readers_out(struct shm_claim *c, uint64_t l)
{
	(void)sh64_cas(&c->rnext, l,
	    link_make(true, LINK_OUT, link_tag(l) + 1));
}

/* Is nobody behind c, and c not marked? */
static inline bool
lhi_readers_ends(const struct shm_claim *c)
{
	return (sh64_load(&c->rnext) & MASK(LINK_TAG_SHIFT)) == 0;
}

/* Is ci, at whose state the caller looks next, the only one in word w? */
static inline bool
lhi_readers_sole(const struct shm_claim *c, uint32_t ci, uint64_t w)
{
	return (w & WORD_LOW) == word_make(WORD_S, ci, 0) &&
	       lhi_readers_ends(c);
}

/* Were readers of s revoked just now, so that none should stay idle? */
static inline bool
lhi_readers_paused(struct shm_slot *s, int64_t now_ns)
{
	uint32_t at = sh32_load_rlx(&s->pause_ms);

	if (at == 0)
		return false;
	/* now may be an older reading of the clock than theirs */
	if ((int32_t)((uint32_t)(now_ns / NS_PER_MS) - at) < (int32_t)PAUSE_MS)
		return true;
	sh32_store_rlx(&s->pause_ms, 0);
	return false;
}

/*
 * Use seq of claim ci was made terminal (REVOKED, EXPIRED, BROKEN) in the chain
 * of s: mark it, and take it out if it is at the head, with all that has ended
 * behind it; with `revoke` idle ones too.  O(1) for each claim taken out.
 * 0; -EUCLEAN.
 */
int lhi_readers_leave(struct lhi_view *v, struct shm_slot *s, uint32_t ci,
    uint64_t seq, bool revoke);

/*
 * Mark a claim that nobody uses again before we are done: terminal, by its
 * owner, or a dead session's.
 */
bool lhi_readers_mark(struct lhi_view *v, struct shm_claim *c);

/*
 * Take claim ci out, wherever it is, if it is in.  When this returns 0, no link
 * leads to it.  Only for a terminal claim, by its owner, or when its session is
 * dead.  0; -EUCLEAN.
 */
int lhi_readers_remove(struct lhi_view *v, struct shm_slot *s, uint32_t ci);

/*
 * Go through the chain at time now_ns: take out who is past the deadline,
 * ended, idle, or (with `probe`, asking) dead.  All of it, or, with `besides`,
 * to the first live reader that is not this claim.  0; -EUCLEAN.
 */
int lhi_readers_purge(struct lhi_view *v, struct shm_slot *s, int64_t now_ns,
    bool probe, uint32_t besides);

/*
 * Walk without changing anything.  fn gets each claim that is not marked, the
 * last comer first, and may return false to stop.  0; -EAGAIN: it moved;
 * -EUCLEAN.
 */
int lhi_readers_walk(struct lhi_view *v, struct shm_slot *s,
    bool (*fn)(struct lhi_view *v, uint32_t ci, void *arg), void *arg);

/* Is claim ci in it, not marked?  1; 0; -EAGAIN: it has moved under each of
 * many looks; -EUCLEAN. */
int lhi_readers_has(struct lhi_view *v, struct shm_slot *s, uint32_t ci);

#endif
