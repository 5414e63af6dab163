/* SPDX-License-Identifier: MIT */
/*
 * Hand-off: another session gets the lease, and the key is never free in
 * between.
 *
 * Claim c1 holds it, in any session; c2 is a free claim of ours (our own, or of
 * a named session, op/session_claim.c).
 *
 *	exclusive			shared
 *	1  c2 announced, until the same deadline, linked before the chain's head
 *	2  c1 HELD -> HELD, in another use (claim #21): now the old lease cannot
 *	   be presented, and of two callers that hand it over one fails
 *	3  X(c1, v) -> X(c2, v + 1)	S(h, v) -> S(c2, v + 1)
 *	   before that c2 until c1's deadline, if c1 was extended or shortened
 *	   since step 1
 *	4  c1 HELD -> FREE		c1 HELD -> REVOKED, out of the chain;
 *	   c2 until c1's last deadline, if that has changed again
 *	5  it counts (G3) if c2 is still held in that use and its session lives,
 *	   if neither c1 nor its session was made to end, and if the clock, read
 *	   after all that, is before the deadline.  (Otherwise the lease has
 *	   ended for good, and may have been reported as lost.)  If c1's session
 *	   has ended, its lock-delay, read before step 2, delays the key: the
 *	   record may be another's by now
 *
 * Step 3 is a grant like any other: version and token grow (G2), the swap is
 * exact.  In shared mode both are in the chain for a moment.  The new one
 * counts only if step 4 found the old one held, or found that it expired when
 * the new one was to, unless extended: then there was no gap.
 *
 * Only the winner of the swap away from X(c1) may change c1 afterwards
 * (amendment C2), by an exact swap.  Its owner finds it FREE when it runs out
 * of claims.
 *
 * A crash or stop
 *	before step 3	c2 HELD, named by nothing: recovered at its deadline,
 *			with its session, or by the next keeper
 *			(session_claim.c); c1 in another use: it can only be
 *			verified, extended and released (op/lease_verify.c)
 *	after step 3	c2 holds the key, until its deadline or its session's
 *			end; the intended owner may find the lease by status
 *	before step 4	c1 HELD, named by nothing, as c2 above; shared: a reader
 *			until the deadline
 *
 * Policies are kept.  Live needs a process that can be seen to run, which a
 * named session does not have: there such a lease is refused.
 *
 * Acquiring into a named session is an acquire like any other, with a claim of
 * the process, followed by this: a process that is killed in between dies
 * holding it.  A request id's record names the process's claim first, and c2's
 * from step 1 on: so after a death it names a lease only if step 3 was made.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include "base/error.h"
#include "shm/consistency.h"
#include "shm/damaged.h"
#include "shm/session_liveness.h"
#include "op/token_ceiling.h"
#include "op/handoff.h"
#include "op/policy.h"
#include "op/cluster_check.h"
#include "proc/claim_cache.h"
#include "shm/claim_note.h"
#include "shm/readers.h"
#include "shm/claim_record.h"
#include "shm/events.h"
#include "shm/session_named.h"
#include "shm/wait_queue.h"
#include "shm/request_record.h"
#include "shm/counters.h"

#define TRIES 100

enum { MOVED = LEASE_LIVES };	/* besides 0 and -errno */

struct handoff {
	struct lh *lh;
	struct lhi_held from;
	uint64_t from_sid;
	uint32_t delay_ms;	/* its lock-delay */
	uint64_t w;		/* the key's word, before its state was read */
	uint64_t st;		/* its state */
	uint64_t moved;		/* its state during the hand-off */
	struct lhi_session_claim to;
	uint64_t to_st;		/* its announcement */
	struct lhi_token_next next;
	unsigned ended;		/* c1's terminal state before step 4; 0 */
	struct lhi_request *request;	/* that it is for; or NULL */
};

static struct lhi_view *view(struct handoff *h) { return &h->lh->v; }

/* Copies the requester's words to the new claim. */
static void
copy_note(struct handoff *h, uint64_t id, uint64_t seq)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lhi_claim_note a;

	if (!lhi_claim_note_read(view(h), id, &a))
		return;
	more.info = a.info;
	memcpy(more.request, a.request, sizeof(more.request));
	lhi_claim_note_write(view(h), h->to.ci, seq, &more);
}

/* Does step 1: c2 is HELD, for this key, and will be before `head`. */
static void
announce_claim(struct handoff *h, const struct lh_lease *l, uint32_t head)
{
	struct lhi_view *v = view(h);
	struct shm_claim *c = h->to.c;
	uint64_t seq = lhi_claim_next_seq(v, c, sh64_load(&c->state));

	copy_note(h, l->id[1], seq);
	sh64_store_rlx(&c->slot_ref, h->from.slot_ref);
	sh64_store_rlx(&c->since, sh64_load_rlx(&h->from.claim->since));
	if (!state_strict(h->st))
		lhi_claim_ends_within(v, h->to.ci, lhi_deadline_ns(v,
		    state_deadline(h->st)) - lhi_now_ns(v));
	if (h->from.shared) {
		sh64_store_rlx(&c->grant,
		    lhi_reader_grant(h->next.token, seq));
		lhi_readers_prepare(c, head);
	}
	if (h->request != NULL)
		lhi_request_announce(h->request, lid_make(h->to.ci,
		    lhi_claim_epoch(c), seq), h->next.token, l->notes);
	/* under policy live only when everything is done: op/policy.h */
	if (state_live(h->st))
		sh32_store_rlx(&c->ticket, sh32_load(&h->from.claim->ticket));
	h->to_st = state_make(state_kind(h->st), seq, state_deadline(h->st));
	lhi_lease_mark_claim_moving(h->lh, h->to.ci, h->to_st);
	sh64_store(&c->state, h->to_st);
	lhi_point("handoff.announced");
	lhi_counters_add_to(v, h->to.sid, STAT_SPENT, 1);
}

/* Makes c2 free again after a failure. */
static int
retract_claim(struct handoff *h)
{
	sh64_store(&h->to.c->state, state_make(ST_FREE, state_seq(h->to_st),
	    0));
	return MOVED;
}

/* The old lease was extended in the meantime, or shortened: so is the new one,
 * unless a caller that found it was quicker. */
static void
follow_deadline(struct handoff *h, uint64_t st)
{
	struct lhi_view *v = view(h);
	uint64_t as = state_make(state_st(h->to_st), state_seq(h->to_st),
	    state_deadline(st));

	if (as == h->to_st)
		return;
	lhi_claim_ends_within(v, h->to.ci, lhi_deadline_ns(v,
	    state_deadline(st)) - lhi_now_ns(v));
	if (sh64_cas(&h->to.c->state, h->to_st, as))		/* claim #7 */
		h->to_st = as;
}

/* Does steps 2 and 3, the word being w. */
static int
swap_word(struct handoff *h, uint64_t w)
{
	struct lhi_view *v = view(h);
	uint64_t mine = word_make(h->from.shared ? WORD_S : WORD_X, h->to.ci,
	    h->next.token), st;

	h->moved = state_make(state_kind(h->st), (state_seq(h->st) +
	    CONVERT_STEP) & MASK(SEQ_BITS), state_deadline(h->st));
	if (!sh64_cas(&h->from.claim->state, h->st, h->moved))	/* claim #21 */
		return retract_claim(h);
	lhi_point("handoff.taken");
	if (!h->from.shared)
		lhi_lease_mark_moving(&h->from, h->moved);
	/* it may have been extended since step 2: if we are stopped behind step
	 * 3, c2 must not end before that */
	st = sh64_load(&h->from.claim->state);
	if (lhi_lease_is_moved(&h->from, st, state_seq(h->moved)))
		follow_deadline(h, st);
	if (!sh64_cas(&h->from.slot->word, w, mine)) {
		(void)lhi_lease_undo_move(&h->from, h->moved, h->st);
		return retract_claim(h);
	}
	lhi_point("handoff.swapped");
	if (!h->from.shared)
		lhi_consistency_follow(h->from.slot, word_ver(w),
		    h->next.token);
	lhi_lease_clear_moving(h->lh, h->to.ci, h->to_st);
	/* not an acquisition, however large the leap */
	lhi_counters_add_to(v, h->from_sid, STAT_SPENT,
	    state_seq(h->moved) - state_seq(h->st));
	lhi_token_ceiling_granted(h->from.slot, &h->next);
	return 0;
}

/*
 * c1's state is st, not held in the use that we gave it: returns how it was
 * made to end.  0: it was not, but expired, as c2 does unless that was
 * extended; or it is not known: a named session's keeper has recovered it,
 * which happens whether it had ended or not.
 */
static unsigned
ended_state(struct handoff *h, uint64_t st)
{
	struct lhi_view *v = view(h);
	bool same = state_seq(st) == state_seq(h->moved);

	if (same && state_st(st) == ST_BROKEN)
		return ST_BROKEN;
	/* the deadline that it had: sooner than c2's if it was shortened, 0 if
	 * it did not expire */
	if (same && state_st(st) == ST_EXPIRED)
		return state_deadline(st) < state_deadline(h->to_st) ?
		    ST_EXPIRED : 0;
	if (same && state_st(st) == ST_REVOKED)		/* released */
		return ST_EXPIRED;
	/* recovered: a reader's only after its end (session_claim.c) */
	return lhi_mutant_on(taken_back_unseen) ||
	    (!h->from.shared && lhi_named_is(v, h->from_sid)) ||
	    lhi_now_ns(v) >= lhi_deadline_ns(v, state_deadline(h->to_st)) ?
	    0 : ST_EXPIRED;
}

/* Does step 4. Returns false if it had been made to end before. */
static bool
free_old_claim(struct handoff *h)
{
	struct lhi_view *v = view(h);
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	uint32_t bit = h->from.ci - m->base;
	uint64_t seq = state_seq(h->moved), st;
	uint32_t n = 0;
	bool held;

	do {	/* it may have been extended */
		st = sh64_load(&h->from.claim->state);
		held = lhi_lease_is_moved(&h->from, st, seq);
	} while (held && !sh64_cas(&h->from.claim->state, st, state_make(
	    h->from.shared ? ST_REVOKED : ST_FREE, seq, 0)) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX));
	if (LHI_REACHED(n, LHI_SWAPS_MAX)) {
		(void)lhi_damaged_restless(v, "the state of a claim",
		    h->from.ci);
		held = false;
	}
	lhi_point("handoff.let_go");
	if (held)
		follow_deadline(h, st);
	if (held && h->from.shared)
		(void)lhi_readers_leave(v, h->from.slot, h->from.ci,
		    state_seq(h->moved), false);
	if (m->lh == h->lh && m->group != NULL && bit < SHM_GROUP) {
		lhi_cached_claim_set(&m->rec[bit], CACHED_OUT);
		lhi_cached_claim_forget(&m->rec[bit]);
		if (held && !h->from.shared)
			lhi_claim_cache_put(m, (int)bit);
	}
	if (!held)
		h->ended = ended_state(h, st);
	return held || h->ended == 0;
}

/*
 * `now` is the new lease: decides whether it counts, c2's state being *st.
 * Otherwise c2 is made to end, also if a caller that found it by status, and
 * may extend it or move it, is quicker.
 */
static bool
is_handoff_held(struct handoff *h, const struct lh_lease *as,
    const struct lhi_held *now, bool whole, uint64_t *st)
{
	struct lhi_view *v = view(h);
	uint32_t n = 0;
	int e;

	do {
		*st = sh64_load(&h->to.c->state);
		if (!state_held(*st) || (state_seq(*st) !=
		    state_seq(h->to_st) && (lhi_mutant_on(handed_is_lost) ||
		    !lhi_lease_is_moving(h->lh, as, now, *st))))
			return false;
		if (whole && lhi_cluster_check_lease(now) &&
		    !lhi_session_dead(v, h->to.sid, false) &&
		    lhi_now_ns(v) < lhi_deadline_ns(v, state_deadline(*st)))
			return true;
		e = lhi_claim_mark(v, h->to.c, h->to.sid, *st, h->ended == 0 ?
		    ST_EXPIRED : h->ended, 0);
	} while (e == -EAGAIN && LHI_WITHIN(n, LHI_SWAPS_MAX));
	if (LHI_REACHED(n, LHI_SWAPS_MAX))
		(void)lhi_damaged_restless(v, "the state of a claim",
		    h->to.ci);
	if (e == 0 && h->ended != ST_BROKEN)
		lhi_counters_add(v, STAT_EXPIRED_OWN, 1);
	return false;
}

/* Does step 5: fills the lease in, or makes it lost. */
static int
confirm_handoff(struct handoff *h, struct lh_lease *l, bool whole)
{
	struct lhi_view *v = view(h);
	struct lhi_held now = h->from;
	struct lh_lease as = *l;
	uint32_t n = 0;
	uint64_t st;
	int error;

	as.id[0] = lhi_view_session_id(v, h->to.sid);
	as.id[1] = lid_make(h->to.ci, lhi_claim_epoch(h->to.c),
	    state_seq(h->to_st));
	as.token = h->next.token;
	now.sid = h->to.sid;
	now.ci = h->to.ci;
	now.claim = h->to.c;
	now.id = as.id[1];
	now.word = word_make(WORD_X, h->to.ci, as.token);
	if (lhi_lease_is_orphaned(h->lh, l)) {
		/* its key is delayed as if it had still held this one: not a
		 * reader's, nor if it was released or seen to expire since */
		if (sh64_load(&now.slot->word) == now.word &&
		    !lhi_mutant_on(handed_undelayed))
			lhi_named_delay_late(v, now.slot, h->from_sid,
			    h->delay_ms);
		whole = false;
	}
	if (!is_handoff_held(h, &as, &now, whole, &st))
		return lhi_lease_enforce(h->lh, &as, &now);
	if (state_live(h->st))
		lhi_policy_resume(v, h->to.ci, h->to_st);
	do {
		as.expires_ns =
		    lhi_cluster_check_end_ns(&now, lhi_ends_ns(v, st));
		error = lhi_lease_verify_again(h->lh, &as, &now);
	} while (error == LEASE_LIVES && LHI_WITHIN(n, LHI_SWAPS_MAX));
	if (error == LEASE_LIVES)
		return lhi_damaged_restless(v, "a lease", h->to.ci);
	if (error != 0)
		return error;
	*l = as;
	lhi_event_handed_over(v, now.shared, now.slot, now.sid, as.token);
	return 0;
}

/* Hands over a held lease, its claim's state being h->st. */
static int
try_handoff(struct handoff *h, struct lh_lease *l)
{
	uint64_t w = h->w;
	int error;

	if (h->from.shared && word_mode(w) != WORD_S)
		return MOVED;
	error = lhi_token_next(view(h), h->from.slot, w, false,
	    h->from.shared, &h->next);
	if (error == TOKEN_AGAIN)
		return MOVED;
	if (error == TOKEN_DEFERRED)
		return lhi_fail(-EAGAIN, "the tokens of the key would have "
		    "to go on further than they can under a lease: the lease "
		    "is as it was");
	if (error == 0)
		error = lhi_cluster_check_next_token(&h->from, h->next.token);
	if (error != 0)
		return error;
	announce_claim(h, l, h->from.shared ? word_idx(w) : 0);
	error = swap_word(h, w);
	return error != 0 ? error : confirm_handoff(h, l, free_old_claim(h));
}

static int
repeat_handoff(struct handoff *h, struct lh_lease *l)
{
	enum lhi_lease_status is;
	int error = MOVED;

	for (int i = 0; error == MOVED && i < TRIES; i++) {
		/* the word first: what is seen of the chain after it stands
		 * until it is swapped */
		h->w = h->from.shared ? sh64_load_sc(&h->from.slot->word) :
		    h->from.word;
		h->st = sh64_load(&h->from.claim->state);
		is = lhi_lease_status(h->lh, l, &h->from, h->st);
		if (is == LEASE_OVER)
			error = lhi_lease_enforce(h->lh, l, &h->from);
		if (is != LEASE_HELD)
			continue;
		if (state_live(h->st) && h->to.m == NULL)
			return lhi_fail(-EINVAL, "a lease under policy live is "
			    "for a process: a named session has none that "
			    "could be seen to run; the lease is as it was");
		error = try_handoff(h, l);
	}
	return error != MOVED ? error : lhi_fail(-EAGAIN, "the key does not "
	    "hold still: others come and go, or convert this very lease, or "
	    "hand it over; the lease is as it was");
}

static int
hand_over_lease(struct lh *lh, struct lh_lease *l, struct lh_session *to,
    struct lhi_request *request)
{
	struct handoff h = { .lh = lh, .request = request };
	int cancel, error = lhi_lease_find(lh, l, &h.from);

	if (error == -EALREADY)
		return lhi_fail(-ESTALE, "this lease was released");
	if (error == 0 && to != NULL && to->lh != lh)
		error = lhi_fail(-EINVAL, "the session was opened through "
		    "another attachment");
	if (error != 0)
		return error;
	/* a thread that is cancelled in here would stay the chunk's keeper for
	 * as long as its process lives */
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	error = lhi_session_claim_take(lh, to, &h.to);
	if (error == -ESTALE)
		error = lhi_fail(-ENOENT, "the session that the lease was to "
		    "be handed over to has ended: the lease is as it was");
	if (error == 0) {
		h.from_sid = h.from.sid;
		h.delay_ms = lhi_named_delay_of(&lh->v, h.from_sid);
		error = repeat_handoff(&h, l);
		lhi_session_claim_leave(&h.to);
	}
	(void)pthread_setcancelstate(cancel, NULL);
	return error;
}

int
lh_handoff(struct lh *lh, struct lh_lease *l, struct lh_session *to)
{
	return hand_over_lease(lh, l, to, NULL);
}

int
lhi_handoff_try(struct lh *lh, const struct lhi_acquire_request *ask, struct
    lh_lease *l)
{
	int error = hand_over_lease(lh, l, ask->more->session, ask->request);

	return error != -ENOENT ? error : lhi_fail(-ESTALE, "the session that "
	    "the key was to be acquired into has ended: open it anew");
}

int
lhi_handoff_after_acquire(struct lh *lh, const struct lhi_acquire_request *ask,
    struct lh_lease *l)
{
	const struct timespec a_moment = { 0, NS_PER_MS };
	struct lh_lease got = *l;
	int error = lhi_handoff_try(lh, ask, l);

	/* readers come and go too fast: there is time, and the lease is held */
	/* ends: at the caller's deadline */
	while (error == -EAGAIN && !ask->try_only &&
	    lhi_now_ns(&lh->v) < ask->until_ns) {
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &a_moment, NULL);
		error = lhi_handoff_try(lh, ask, l);
	}
	if (error != 0 && lh_release(lh, &got) == 0)
		lhi_counters_spent(&lh->v);		/* G8: not acquired */
	return error;
}
