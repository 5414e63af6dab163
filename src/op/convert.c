/* SPDX-License-Identifier: MIT */
/*
 * Changes the mode of a held lease.  lh_convert() and src/live call it.
 *
 *	down	X(c, v) -> S(c, v + 1): one swap; the lease never ends
 *	up	S(c, v) -> X(c, v + 1), if c is the only one in the chain: idle
 *		readers are revoked, ended and dead ones removed; beside a live
 *		one it returns -EAGAIN, or waits (op/upgrade.c)
 *
 * Both are grants: the version grows, and the lease gets a new token.  Three
 * conditions must hold after the swap (guarantee G3): the claim is held in the
 * use that the conversion gave it; the clock, read after that, is before the
 * deadline; and last, its session is alive.  A conversion that won too late is
 * undone by making the lease expired, or left to its session's reclaim.
 *
 * A reader's token is kept in its claim, written before the swap that makes it
 * a reader.  While the lease is exclusive, the word's version gives the token.
 *
 * A crash or stop before the swap changes nothing; after it, the lease is
 * complete in the new mode.
 */
#include <errno.h>
#include "base/error.h"
#include "op/token_ceiling.h"
#include "op/reentry.h"
#include "op/policy.h"
#include "op/cluster_check.h"
#include "op/upgrade.h"
#include "proc/claim_cache.h"
#include "shm/consistency.h"
#include "shm/damaged.h"
#include "shm/claim_note.h"
#include "shm/readers.h"
#include "shm/claim_record.h"
#include "shm/events.h"
#include "shm/lock_word.h"
#include "shm/wait_queue.h"
#include "shm/counters.h"

#define SOLE_TRIES 3	/* others may join while we look */
#define TRIES 100

enum { MOVED = LEASE_LIVES, BESIDE = 2 };	/* besides 0 and -errno */

/* Returns the claim's state in the other mode, and in another use; under policy
 * live only when everything is done (op/policy.h). */
static uint64_t
converted_state(uint64_t st)
{
	return state_make(state_kind(st) ^ ST_HELD ^ ST_READ,
	    (state_seq(st) + CONVERT_STEP) & MASK(SEQ_BITS),
	    state_deadline(st));
}

/*
 * Writes the grant of a lease whose state is `moved`, so that this caller may
 * write it.  The grant is read, then state and word, then swapped.  So a late
 * caller cannot prevent a later use's grant from being written, because that is
 * repeated until it is there.  (The word is read and not `since`, which may be
 * written late by a caller that was just granted the lease.  While the word is
 * of this grant, so is the claim: shm/lock_word.c, I2; when it is not, it will
 * not be swapped either.)
 */
static void
write_grant(const struct lhi_held *h, uint64_t moved, uint64_t token)
{
	uint32_t n = 0;
	uint64_t is;

	do {
		is = sh64_load(&h->claim->grant);
		if (state_seq(sh64_load(&h->claim->state)) !=
		    state_seq(moved) || sh64_load(&h->slot->word) != h->word)
			return;		/* it has ended */
		if (lhi_mutant_on(since_late) && !lhi_lease_is_moved(h,
		    sh64_load(&h->claim->state), state_seq(moved)))
			return;
	} while (!sh64_cas(&h->claim->grant, is, lhi_reader_grant(token,
	    state_seq(moved))) && LHI_WITHIN(n, LHI_SWAPS_MAX));
	if (LHI_REACHED(n, LHI_SWAPS_MAX))
		(void)lhi_damaged_restless(&h->lh->v, "the grant of a claim",
		    h->ci);
}

/*
 * Changes the state, then the word.  Another caller that presents the lease in
 * its old mode swaps that very state, or that very word, and fails.  If the
 * lease is to be a reader's, its claim's grant is written between the two: so
 * only the caller that converts it writes that, although others that try may
 * have other tokens.  Returns 0; MOVED: state or word have changed, and nothing
 * was written.
 */
static int
swap_mode(const struct lhi_held *h, uint64_t st, uint64_t w, unsigned mode,
    const struct lhi_token_next *n)
{
	struct lhi_view *v = &h->lh->v;
	uint64_t to = converted_state(st);

	if (!sh64_cas(&h->claim->state, st, to))		/* claim #17 */
		return MOVED;
	lhi_point("convert.announced");
	if (mode == WORD_S && !lhi_mutant_on(grant_untold))
		write_grant(h, to, n->token);
	/* not an acquisition, however large the leap */
	lhi_counters_add(v, STAT_SPENT, state_seq(to) - state_seq(st));
	/* if its session ends before that is confirmed, it may have been held
	 * exclusively until then */
	if (mode == WORD_S)
		lhi_lease_mark_moving(h, to);
	if (!sh64_cas(&h->slot->word, w, word_make(mode, h->ci,
	    n->token))) {
		if (lhi_lease_undo_move(h, to, st))
			lhi_counters_add(v, STAT_SPENT,
			    state_seq(st) - state_seq(to));
		return MOVED;
	}
	lhi_point("convert.swapped");
	lhi_token_ceiling_granted(h->slot, n);
	if (state_live(st))
		lhi_policy_resume(v, h->ci, to);
	return 0;
}

/*
 * True if its claim is held in use seq, in state *st, at a moment after that.
 * Past the deadline it is made to expire, unless another caller was quicker to
 * extend it, or its named session has ended as well, whose reclaiming delays
 * the key.
 */
static bool
is_conversion_held(const struct lh_lease *as, const struct lhi_held *h,
    uint64_t seq, uint64_t *st)
{
	struct lhi_view *v = &h->lh->v;
	uint32_t n = 0;
	int e;

	do {
		*st = sh64_load(&h->claim->state);
		if (!state_held(*st) || state_seq(*st) != seq)
			return false;
		lhi_point("convert.looked");
		if (lhi_now_ns(v) < lhi_deadline_ns(v, state_deadline(*st)))
			return true;
		e = lhi_claim_mark(v, h->claim, h->sid, *st, ST_EXPIRED, 0);
	} while (e == -EAGAIN && LHI_WITHIN(n, LHI_SWAPS_MAX));
	if (LHI_REACHED(n, LHI_SWAPS_MAX))
		(void)lhi_damaged_restless(v, "the state of a claim", h->ci);
	if (e == 0)
		lhi_counters_add(v, STAT_EXPIRED_OWN, 1);
	return false;
}

/* The swap counts only if the lease lives after it. */
static int
confirm_conversion(struct lh *lh, struct lh_lease *l, const struct lhi_held *h,
    unsigned mode, uint64_t token)
{
	uint64_t seq = (lid_seq(l->id[1]) + CONVERT_STEP) & MASK(SEQ_BITS);
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	uint32_t bit = h->ci - m->base;
	struct lhi_held now = *h;
	struct lh_lease as = *l;
	uint64_t st;
	int error;

	as.mode = mode == WORD_S ? LH_SHARED : LH_EXCLUSIVE;
	as.token = token;
	as.id[1] = lid_make(h->ci, lid_epoch(l->id[1]), seq);
	now.shared = mode == WORD_S;
	now.word = word_make(WORD_X, h->ci, token);
	/* (a caller that found it by status may move it again) */
	/* ends: after TRIES rounds at the latest */
	for (int i = 0; (!is_conversion_held(&as, h, seq, &st) &&
	    (lhi_lease_status(lh, &as, &now, st) != LEASE_MOVING ||
	    lhi_mutant_on(moving_is_lost))) ||
	    !lhi_cluster_check_lease(&now); i++) {
		error = lhi_lease_enforce(lh, &as, &now);
		/* again if it has its right, or was extended, after all */
		if (error != LEASE_LIVES || i == TRIES ||
		    lhi_mutant_on(confirms_once))
			return error;
	}
	/* a named session's, which has ended */
	if (lhi_lease_is_orphaned(lh, l) && !lhi_mutant_on(converts_ended))
		return lhi_lease_fail_lost(lh, &now);
	if (now.shared)
		lhi_lease_clear_moving(lh, h->ci, state_make(ST_READ, seq, 0));
	lhi_claim_note_follow(&lh->v, h->ci, l->id[1], as.id[1]);
	if (m->lh == lh && bit < SHM_GROUP && m->rec[bit].id == l->id[1] &&
	    m->rec[bit].use != CACHED_OUT) {
		/* the slow release remembers exclusive ones again */
		m->rec[bit].id = as.id[1];
		m->rec[bit].token = token;
		lhi_cached_claim_set(&m->rec[bit], lhi_cached_claim_use(&lh->v,
		    h->slot, now.shared));
		lhi_claim_cache_set_key(m, &m->rec[bit], h->slot,
		    now.shared ? h->slot_ref : 0, LH_SHARED);
		lhi_cached_claim_limit(m, &m->rec[bit]);
	}
	lhi_reentry_replace_lease(lh, l->id[1], &as);
	*l = as;
	lhi_counters_add(&lh->v, STAT_CONVERTS, 1);
	lhi_event_lease(&lh->v, LH_LOG_CONVERTED, now.shared, h->slot, h->ci,
	    token, 0);
	return 0;
}

/* Others of its holder, if it has one, wait meanwhile for the result. */
static int
swap_and_confirm(struct lh *lh, struct lh_lease *l, const struct lhi_held *h,
    uint64_t st, uint64_t w, unsigned mode, const struct lhi_token_next *n,
    bool *swapped)
{
	uint64_t id = l->id[1];
	int error;

	lhi_reentry_set_moving(lh, id, true);
	error = swap_mode(h, st, w, mode, n);
	*swapped = error == 0;
	if (error == 0)
		error = confirm_conversion(lh, l, h, mode, n->token);
	lhi_reentry_set_moving(lh, id, false);
	return error;
}

/* Chooses the next token for the word w. Returns 0, MOVED, -errno. */
static int
choose_token(struct lh *lh, const struct lhi_held *h, uint64_t w,
    struct lhi_token_next *n)
{
	int error = lhi_token_next(&lh->v, h->slot, w, false, false, n);

	if (error == 0)
		return lhi_cluster_check_next_token(h, n->token);
	if (error == TOKEN_AGAIN)
		return MOVED;
	return error != TOKEN_DEFERRED ? error : lhi_fail(-EAGAIN, "the tokens "
	    "of the key would have to go on further than they can under a "
	    "lease: the lease is as it was; release it and acquire anew");
}

static int
downgrade_lease(struct lh *lh, struct lh_lease *l, const struct lhi_held *h,
    uint64_t st)
{
	struct lhi_token_next n;
	uint32_t tries = 0;
	uint64_t link;
	bool swapped;
	int error = choose_token(lh, h, h->word, &n);

	if (error != 0)
		return error;
	/* others may end the lease, and its claim may be used again: the old
	 * values were read before the word was seen to grant it still */
	do {
		link = sh64_load(&h->claim->rnext);
		if (!lhi_lease_is_granted(h))	/* or it was, and is again */
			return lhi_lease_enforce(lh, l, h);
	} while (!sh64_cas(&h->claim->rnext, link,
	    link_make(false, 0, link_tag(link) + 1)) &&
	    LHI_WITHIN(tries, LHI_SWAPS_MAX));
	if (LHI_REACHED(tries, LHI_SWAPS_MAX))
		return lhi_damaged_restless(&lh->v, "the link of a reader",
		    h->ci);
	lhi_point("convert.prepared");
	error = swap_and_confirm(lh, l, h, st, h->word, WORD_S, &n, &swapped);
	if (swapped && link_idx(sh64_load_sc(&h->slot->waitq)) != 0)
		lhi_queue_wake_first(&lh->v, h->slot);
	return error;
}

/* Takes out readers that are not alive.  Returns 1: only h is left, in *w; 0;
 * -EUCLEAN. */
static int
make_sole_reader(struct lh *lh, const struct lhi_held *h, uint64_t *w)
{
	int error;

	for (int i = 0; i < SOLE_TRIES; i++) {
		*w = sh64_load_sc(&h->slot->word);
		if (lhi_readers_sole(h->claim, h->ci, *w))
			return 1;
		error = lhi_readers_purge(&lh->v, h->slot,
		    lhi_now_ns(&lh->v), true, h->ci);
		if (error != 0)
			return error;
	}
	return 0;
}

static int
upgrade_lease(struct lh *lh, struct lh_lease *l, const struct lhi_held *h,
    uint64_t st)
{
	struct lhi_token_next n;
	uint64_t w;
	bool swapped;
	int error = make_sole_reader(lh, h, &w);

	if (error < 0)
		return error;
	if (error == 0 && lhi_now_ns(&lh->v) >=
	    lhi_deadline_ns(&lh->v, state_deadline(st)))
		return lhi_lease_enforce(lh, l, h);
	if (error == 0)
		return BESIDE;
	error = choose_token(lh, h, w, &n);
	if (error != 0)
		return error;
	lhi_point("convert.prepared");
	return swap_and_confirm(lh, l, h, st, w, WORD_X, &n, &swapped);
}

/*
 * True if this host may only share the key with others.  Then no process here
 * can be its only holder: the key would have to be returned to the cluster and
 * queued for again, and others may have written in between.
 */
static bool
has_shared_right(const struct lhi_held *h)
{
	const struct lhi_ref ref = { h->slot, h->slot_ref };

	return h->shared && lhi_cluster_check_is_needed(h->lh, h->slot) &&
	    !lhi_right_is_valid(&h->lh->v, &ref, false, NULL);
}

int
lhi_convert(struct lh *lh, struct lh_lease *l, uint32_t mode, bool *beside)
{
	enum lhi_lease_status is = LEASE_HELD;
	struct lhi_held h;
	uint64_t st;
	int error = lhi_lease_check(lh, l, &h);

	*beside = false;
	lhi_point("convert.begun");
	if (error != 0 && error != -EALREADY)
		return error;
	if (mode > LH_SHARED)
		return lhi_fail(-EINVAL, "unknown mode %u", mode);
	if (error == -EALREADY)
		return lhi_fail(-ESTALE, "this lease was released");
	/* another thread may extend it, or another reader arrive, meanwhile */
	for (int i = 0; i < TRIES; i++) {
		st = sh64_load(&h.claim->state);
		is = lhi_lease_status(lh, l, &h, st);
		if (is == LEASE_MOVING && lhi_mutant_on(motion_is_lost))
			return lhi_lease_fail_lost(lh, &h);
		if (is == LEASE_OVER) {
			error = lhi_lease_enforce(lh, l, &h);
			if (error != MOVED)
				return error;
			continue;
		}
		if (mode == l->mode)
			return 0;
		if (mode == LH_SHARED && lhi_consistency_noted(h.slot))
			return lhi_fail(-EINVAL, "the lease is robust, or the "
			    "note of an earlier one stands (mark it "
			    "consistent): such a lease is not converted to "
			    "shared mode; release it and acquire anew");
		if (has_shared_right(&h))
			return lhi_fail(-EAGAIN, "other hosts may read the "
			    "key as well: the lease stays as it is; release "
			    "it and acquire exclusively");
		error = is == LEASE_MOVING  ? MOVED
			: mode == LH_SHARED ? downgrade_lease(lh, l, &h, st)
					    : upgrade_lease(lh, l, &h, st);
		if (error == BESIDE)
			break;
		if (error != MOVED)
			return error;
	}
	if (is == LEASE_MOVING)
		return lhi_fail(-EAGAIN, "somebody else is converting this "
		    "very lease, or handing it over, or was killed in that: it "
		    "stays as it is; try again, or release it");
	*beside = mode == LH_EXCLUSIVE;
	return lhi_fail(-EAGAIN, "%s, or come and go: the lease stays as it "
	    "is; release it and acquire %s", *beside ? "other readers hold the "
	    "key" : "others present it as well", *beside ? "exclusively, or "
	    "wait (lh_convert_wait)" : "anew");
}

int
lh_convert(struct lh *lh, struct lh_lease *l, uint32_t mode)
{
	bool beside;
	int error = lhi_convert(lh, l, mode, &beside);

	return error != 0 ? error : lhi_damaged_or(&lh->v, 0);
}
