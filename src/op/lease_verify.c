/* SPDX-License-Identifier: MIT */
/*
 * Verifies a presented lease.  It answers the question: does this lease hold
 * its key now?  Verify, extend, convert, hand-off and release call it.
 *
 * The lease names its claim, the use of the claim, and the token; these
 * determine the lock word of its grant.  The state is read, and then the
 * clock.  Another thread may extend the lease in between, in time.  So a caller
 * that finds it past its deadline first makes it expire for everybody
 * (guarantee G3).  If that fails, because the lease is not past its deadline
 * any more, the caller looks again (LEASE_LIVES).
 *
 * While another thread converts or hands over the lease (or another process, if
 * it is a named session's), the claim is in its next use, and the word still
 * grants the lease (lease_motion.c).  The word decides.  The lease is held, and
 * may be released, even if the process that began to convert it was killed.
 * (Its session may live for ever, and a strict lease has no deadline.)  If the
 * word X(c, v) is read after the state, that state belongs to this grant
 * (shm/lock_word.c, I2), and only one process can swap the word away.  A
 * reader's grant names its push and is written before it.  Within one push, no
 * claim is revived so often that it reaches the use to which a conversion would
 * lead.
 *
 * A lease on a cluster key also needs this host's right, which is checked
 * before the word (op/cluster_check.c, I1).  A lease that has lost its right is
 * made to expire as well (guarantee G9).
 *
 * A crash or stop anywhere: only the end of a lease that had ended is written,
 * and each step is one swap.
 */
#include <errno.h>
#include "base/error.h"
#include "op/cluster_check.h"
#include "proc/claim_cache.h"
#include "shm/damaged.h"
#include "shm/claim_record.h"
#include "shm/counters.h"
#include "shm/lock_word.h"
#include "shm/readers.h"
#include "shm/session_named.h"

/* True if the reader's claim is in the chain since the lease's own push.  The
 * only reader frees the word before its claim.  So a shared word proves nothing
 * if others have joined since, or started a new chain. */
static bool
is_granted_by_chain(const struct lhi_held *h)
{
	uint64_t grant = sh64_load(&h->claim->grant);
	uint64_t w = sh64_load(&h->slot->word), ver = word_ver(h->word), l, st;
	int has;

	if (word_mode(w) != WORD_S || grant >> GRANT_SHIFT != ver)
		return false;
	if (word_ver(w) == ver || lhi_mutant_on(any_readers))
		return true;		/* nobody has joined since */
	/*
	 * Only the last claim of the chain leaves without a mark, when it is
	 * alone.  So a claim with others behind it, in this use, is in the
	 * chain, and no walk is needed.  (Or it was announced and is about to
	 * enter: nobody knows it then, and a guess asks the chain, too:
	 * lh_lease_recall().)
	 */
	l = sh64_load(&h->claim->rnext);
	st = sh64_load(&h->claim->state);
	has = !link_marked(l) && link_idx(l) != 0 && ((state_held(st) &&
	    (state_seq(st) == lid_seq(h->id) ||
	    state_seq(st) == lhi_lease_moved_seq(h->id))) ||
	    lhi_mutant_on(place_of_next_use)) ? 1 :
	    lhi_readers_has(&h->lh->v, h->slot, h->ci);
	/* if the chain keeps changing, the claim's state decides */
	return has != 0 && sh64_load(&h->claim->grant) >> GRANT_SHIFT == ver;
}

static bool
is_granted_by_word(const struct lhi_held *h)
{
	return h->shared ? is_granted_by_chain(h) :
	    sh64_load(&h->slot->word) == h->word;
}

bool
lhi_lease_is_current(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h, uint64_t st)
{
	if (lhi_mutant_on(use_number))
		return state_st(st) == ST_HELD;
	return lhi_claim_owner(&lh->v, h->ci) == h->sid &&
	    state_kind(st) == (h->shared ? ST_READ : ST_HELD) &&
	    state_seq(st) == lid_seq(l->id[1]) &&
	    lhi_claim_epoch(h->claim) == lid_epoch(l->id[1]) &&
	    sh64_load(&h->claim->slot_ref) == h->slot_ref &&
	    l->token == (h->shared ? lhi_reader_token(h->slot, h->claim) :
	    lhi_lock_token(h->slot, h->word)) &&
	    (!h->shared || is_granted_by_word(h));
}

bool
lhi_lease_is_granted(const struct lhi_held *h)
{
	return lhi_cluster_check_lease(h) &&
	       is_granted_by_word(h); /* cluster_check.c, I1 */
}

bool
lhi_lease_is_moving(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h, uint64_t st)
{
	return state_held(st) &&
	       state_seq(st) == lhi_lease_moved_seq(l->id[1]) &&
	       lhi_claim_owner(&lh->v, h->ci) == h->sid &&
	       lhi_claim_epoch(h->claim) == lid_epoch(l->id[1]) &&
	       sh64_load(&h->claim->slot_ref) == h->slot_ref &&
	       (!h->shared ||
		   lhi_reader_may_move(h->claim, lid_seq(l->id[1]))) &&
	       l->token == (h->shared ? lhi_reader_token(h->slot, h->claim)
				      : lhi_lock_token(h->slot, h->word)) &&
	       is_granted_by_word(h);
}

enum lhi_lease_status
lhi_lease_status(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h, uint64_t st)
{
	bool current = lhi_lease_is_current(lh, l, h, st);

	if ((!current && !lhi_lease_is_moving(lh, l, h, st)) ||
	    !lhi_lease_is_granted(h) ||
	    lhi_deadline_passed(&lh->v, state_deadline(st), lhi_now_ns(&lh->v)))
		return LEASE_OVER;
	return current ? LEASE_HELD : LEASE_MOVING;
}

/* The same as lhi_lease_enforce(), but ignores the right. */
static int
settle(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h)
{
	uint64_t st = sh64_load(&h->claim->state), seq, w;
	int64_t now = lhi_now_ns(&lh->v);

	if (!h->shared && sh64_load(&h->slot->word) == h->word) {
		(void)lhi_lock_settle(&lh->v, h->slot, now, 0, &w);
	} else if (h->shared && (lhi_lease_is_current(lh, l, h, st) ||
	    lhi_lease_is_moving(lh, l, h, st))) {
		if (now >= lhi_deadline_ns(&lh->v, state_deadline(st)) &&
		    lhi_claim_mark(&lh->v, h->claim, h->sid, st, ST_EXPIRED,
		    state_deadline(st)) == 0)
			lhi_counters_add(&lh->v, STAT_EXPIRED_OWN, 1);
		seq = state_seq(st);
		st = sh64_load(&h->claim->state);
		if (state_st(st) == ST_EXPIRED && state_seq(st) == seq)
			(void)lhi_readers_leave(&lh->v, h->slot, h->ci,
			    state_seq(st), false);
	}
	/* the deadline that has passed may be an earlier one */
	st = sh64_load(&h->claim->state);
	return lhi_lease_status(lh, l, h, st) != LEASE_OVER &&
		       !lhi_mutant_on(seen_late_is_lost) &&
		       !lhi_lease_is_orphaned(lh, l)
		   ? LEASE_LIVES
		   : lhi_lease_fail_lost(lh, h);
}

int
lhi_lease_lose_right(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h)
{
	char name[LEASE_NAME_MAX];
	uint32_t n = 0;
	uint64_t st;

	/* another thread may extend or convert it; ids repeat, words do not:
	 * read the word after the state (shm/lock_word.c, I2) */
	while (st = sh64_load(&h->claim->state),
	    (lhi_lease_is_current(lh, l, h, st) ||
	    lhi_lease_is_moving(lh, l, h, st)) &&
	    (h->shared || sh64_load(&h->slot->word) == h->word)) {
		int e;

		if (!LHI_WITHIN(n, LHI_SWAPS_MAX))
			return lhi_damaged_restless(&lh->v,
			    "the state of a claim", h->ci);
		e = lhi_claim_mark(&lh->v, h->claim, h->sid, st,
		    ST_EXPIRED, 0);

		if (e == -EAGAIN)
			continue;
		if (e == 0) {
			lhi_point("right.expired");
			lhi_counters_add(&lh->v, STAT_EXPIRED_OWN, 1);
		}
		break;
	}
	lhi_fail_mute(1);
	(void)settle(lh, l, h);
	lhi_fail_mute(0);
	return lhi_fail(-ESTALE, "the lease on %s is lost: this host's "
	    "right to it in the cluster has ended, and another host may have "
	    "it; stop using what it guards, and acquire again",
	    lhi_lease_key_name(h, name));
}

int
lhi_lease_enforce(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h)
{
	return lhi_cluster_check_lease(h) ? settle(lh, l, h) :
	    lhi_lease_lose_right(lh, l, h);
}

int
lhi_lease_verify(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h)
{
	uint64_t st;

	if (!lhi_cluster_check_lease(h)) /* cluster_check.c, I1: before the rest
					  */
		return lhi_lease_lose_right(lh, l, h);
	st = sh64_load(&h->claim->state);
	if ((!lhi_lease_is_current(lh, l, h, st) &&
	    !lhi_lease_is_moving(lh, l, h, st)) ||
	    !is_granted_by_word(h) ||
	    lhi_deadline_passed(&lh->v, state_deadline(st), lhi_now_ns(&lh->v)))
		return lhi_lease_enforce(lh, l, h);
	/* check the end of a named session last, after word and claim */
	return lhi_lease_is_orphaned(lh, l) ? lhi_lease_fail_lost(lh, h) : 0;
}

int
lhi_lease_verify_again(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h)
{
	return lhi_cluster_check_is_needed(lh, h->slot) &&
		       !lhi_mutant_on(told_unchecked)
		   ? lhi_lease_verify(lh, l, h)
		   : 0;
}

int
lhi_lease_verify_moving(struct lh *lh, const struct lh_lease *l,
    const struct lhi_held *h)
{
	uint32_t n = 0;
	int error;

	do
		error = lhi_lease_verify(lh, l, h);
	while (error == LEASE_LIVES && LHI_WITHIN(n, LHI_SWAPS_MAX));
	return error != LEASE_LIVES ? error :
	    lhi_damaged_restless(&lh->v, "a lease", h->ci);
}

int
lh_verify(struct lh *lh, const struct lh_lease *l)
{
	struct lhi_held h;
	int error = lhi_lease_check(lh, l, &h);

	if (error == -EALREADY)
		return lhi_fail(-ESTALE, "this lease was released");
	if (error != 0)
		return error;
	error = lhi_lease_verify(lh, l, &h);
	return error != LEASE_LIVES ? error :
	    lhi_lease_verify_moving(lh, l, &h);
}

int64_t
lhi_lease_own_end_ns(struct lh *lh, const struct lh_lease *l)
{
	struct lhi_held h;
	uint64_t st;

	if (!token_cluster(l->token) || lh->serves ||
	    lhi_lease_find(lh, l, &h) != 0)
		return l->expires_ns;
	st = sh64_load(&h.claim->state);
	return lhi_lease_is_current(lh, l, &h, st) ? lhi_ends_ns(&lh->v, st) :
	    l->expires_ns;
}
