/* SPDX-License-Identifier: MIT */
/* The readers of a key: the chain in its lock word.  See readers.c. */
#ifndef LHI_READERS_H
#define LHI_READERS_H

#include "base/clock.h"
#include "shm/view.h"

/* After a revocation readers do not stay in the chain for so long. */
#define PAUSE_MS 20u

/* Prepares claim c, the caller's own and in no chain, to stand before `head`
 * (0: it is the first). Its announcement and the word's swap follow. */
static inline void
lhi_readers_prepare(struct shm_claim *c, uint32_t head)
{
	uint64_t mine = sh64_load_rlx(&c->rnext);

	/* who sees it sees that the use before has ended (op/lease_verify.c) */
	sh64_store(&c->rnext, link_make(false, head, link_tag(mine) + 1));
}

/*
 * The version of a reader's push, kept with its claim (the word has only the
 * last one's): its token follows from it.  Written before the push, together
 * with the number of the claim's use, so that no value returns.
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
 * Returns how many uses of its claim after that push use seq is.  A claim is
 * revived in one push less than REVIVED_MAX times, and CONVERT_STEP is more.
 * So for a lease in use seq, the use CONVERT_STEP further on is that very lease
 * in motion (claim #17, claim #21), and not a revived one.
 */
#define REVIVED_MAX (UINT64_C(1) << (lhi_mutant_on(revived_often) ? 40 : 20))

static inline uint64_t
lhi_reader_revived(const struct shm_claim *c, uint64_t seq)
{
	return (seq - sh64_load_rlx(&c->grant)) & MASK(SEQ_BITS);
}

/* Returns what turns a claim state HELD of use 0 into a reader's state of the
 * use of that id. */
static inline uint64_t
lhi_reader_state(uint64_t id)
{
	return ((uint64_t)(ST_READ ^ ST_HELD) << ST_SHIFT) + (id << SEQ_SHIFT);
}

/*
 * Returns the id of the last use of a reader's claim in which it can be
 * revived, in this push and before its seq wraps; 0 if `id` is past that.
 */
static inline uint64_t
lhi_reader_last_id(const struct shm_claim *c, uint64_t id)
{
	uint64_t left = REVIVED_MAX - 1 - lhi_reader_revived(c, lid_seq(id));
	uint64_t wrap = MASK(SEQ_BITS) - lid_seq(id);

	if (lhi_reader_revived(c, lid_seq(id)) >= REVIVED_MAX - 1)
		return 0;
	return id + (left < wrap ? left : wrap);
}

/* True if a lease of that push can have been in use seq, at rest. */
static inline bool
lhi_reader_may_move(const struct shm_claim *c, uint64_t seq)
{
	return lhi_reader_revived(c, seq) < REVIVED_MAX;
}

/* Records that c was unlinked, its link being l: no walk is needed then. */
static inline void
lhi_readers_out(struct shm_claim *c, uint64_t l)
{
	(void)sh64_cas(&c->rnext, l,
	    link_make(true, LINK_OUT, link_tag(l) + 1));
}

/* True if there is no claim behind c, and c is not marked. */
static inline bool
lhi_readers_ends(const struct shm_claim *c)
{
	return (sh64_load(&c->rnext) & MASK(LINK_TAG_SHIFT)) == 0;
}

/* True if ci, whose state the caller reads next, is the only one in word w. */
static inline bool
lhi_readers_sole(const struct shm_claim *c, uint32_t ci, uint64_t w)
{
	return (w & WORD_LOW) == word_make(WORD_S, ci, 0) &&
	       lhi_readers_ends(c);
}

/* True if readers of s were revoked just now, so that none should stay idle. */
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
 * of s: marks it, and takes it out if it is at the head, with all ended claims
 * behind it; with `revoke` idle ones too.  O(1) for each claim taken out.
 * Returns 0; -EUCLEAN.
 */
int lhi_readers_leave(struct lhi_view *v, struct shm_slot *s, uint32_t ci,
    uint64_t seq, bool revoke);

/* Marks a claim that is not used again before the caller is done: terminal, by
 * its owner, or a dead session's. */
bool lhi_readers_mark(struct lhi_view *v, struct shm_claim *c);

/*
 * Takes claim ci out, wherever it is, if it is in.  When this returns 0, no
 * link leads to it.  Only for a terminal claim, by its owner, or when its
 * session is dead.  Returns 0; -EUCLEAN.
 */
int lhi_readers_remove(struct lhi_view *v, struct shm_slot *s, uint32_t ci);

/*
 * Walks the chain at time now_ns: takes out claims that are past the deadline,
 * ended, idle, or (with `probe`, asking) dead.  All of it, or, with `besides`,
 * to the first live reader that is not this claim.  Returns 0; -EUCLEAN.
 */
int lhi_readers_purge(struct lhi_view *v, struct shm_slot *s, int64_t now_ns,
    bool probe, uint32_t besides);

/*
 * Walks without changing anything.  Calls fn with each claim that is not
 * marked, the latest first, until it returns false.  Returns 0; -EAGAIN: it
 * changed; -EUCLEAN.
 */
int lhi_readers_walk(struct lhi_view *v, struct shm_slot *s,
    bool (*fn)(struct lhi_view *v, uint32_t ci, void *arg), void *arg);

/* True if claim ci is in it, not marked.  Returns 1; 0; -EAGAIN: it changed
 * under each of many looks; -EUCLEAN. */
int lhi_readers_has(struct lhi_view *v, struct shm_slot *s, uint32_t ci);

#endif
