/* SPDX-License-Identifier: MIT */
/*
 * Claims: what a claim may be in the middle of, and how that is ended.
 *
 * Layout.  Claims come in chunks of 64. A chunk names the session that owns it,
 * so a claim's session is its chunk's.  A process gives groups of 8 to its
 * threads (proc/claim_cache.c). Only the thread whose claim cache has a claim
 * ever takes it from FREE, so announcing needs no swap.
 *
 * The transitions of the state word {st, seq, deadline} are claim #1 to #21 in
 * doc/protocol.md ("Claim"). seq counts uses, is never reset, and is in every
 * lease.  Extend, release and recovery swap exact values, so a decision about
 * one use cannot affect the next (amendment C1).
 *
 * Invariants.
 *  I1	A FREE claim is named by no lock word and linked in no queue or chain.
 *  I2	Only the winner of the word's swap takes a claim from HELD to FREE; the
 *	loser leaves the claim alone (amendment C2).
 *  I3	A chunk is returned only when its 64 claims are FREE.
 *
 * A crash or stop of the owner anywhere leaves one of the claim's states.
 * Reclaiming completes each, and every step of it may be repeated:
 *	HELD, EXPIRED, BROKEN, REVOKED, IDLE
 *				free the word if it names the claim; leave the
 *				chain of readers and the queue
 *	WAIT			leave the queue
 *	INSERT			finish or undo the key (shm/key_slot.c)
 */
#include <errno.h>
#include "shm/damaged.h"
#include "shm/evict.h"
#include "shm/readers.h"
#include "shm/claim_record.h"
#include "shm/lock_word.h"
#include "shm/session_named.h"
#include "shm/wait_queue.h"
#include "shm/key_slot.h"

#define LEAVE_PASSES_MAX 1000

static uint64_t
state_freed(uint64_t st)
{
	return state_make(ST_FREE, state_seq(st), 0);
}

/* Take the claim out of the queue of the slot it last announced. */
static int
leave_queue(struct lhi_view *v, uint32_t ci)
{
	struct shm_slot *s = lhi_slot(v, lhi_claim_slot(&v->claims[ci]));

	return s == NULL ? 0 : lhi_queue_remove(v, s, ci);
}

/*
 * Delays the key if the dead session's claim may have become a reader's just
 * now, even after lhi_claim_leave_chain(). (A moving claim may be in no chain,
 * although the key is shared: its lease was released, or never became shared.)
 */
static void
delay_if_moved(struct lhi_view *v, struct shm_slot *s, uint32_t ci)
{
	uint64_t st = sh64_load(&v->claims[ci].state);

	if (lhi_named_moving(v, ci, st) && lhi_readers_has(v, s, ci) != 0)
		lhi_named_delay_moved(v, ci, st);
}

/* Takes the claim out of the word, the chain and the queue of the slot that it
 * last announced.  The claim is terminal, or its session dead. */
static int
leave_key(struct lhi_view *v, uint32_t ci, enum lhi_cause cause)
{
	struct shm_slot *s = lhi_slot(v, lhi_claim_slot(&v->claims[ci]));

	if (s == NULL)
		return 0;
	/*
	 * A conversion that was under way may turn X into S, or S into X,
	 * meanwhile; once the word has been seen not to name the claim, it is
	 * too late for that.  Each pass is another operation: a word that still
	 * names the claim after so many passes is damaged.
	 */
	for (int pass = 0; pass < LEAVE_PASSES_MAX; pass++) {
		uint64_t w;
		int error;

		(void)lhi_lock_free_for(v, ci, cause);
		if (cause == CAUSE_DIED)
			delay_if_moved(v, s, ci);
		error = lhi_readers_remove(v, s, ci);
		if (error != 0)
			return error;
		lhi_point("claim.left");
		w = sh64_load_sc(&s->word);
		if ((word_mode(w) != WORD_X && word_mode(w) != WORD_S) ||
		    word_idx(w) != ci)
			return leave_queue(v, ci);
	}
	return lhi_damaged(v, "a key's word names a claim that cannot leave it",
	    lhi_slot_idx(v, s), ci);
}

int
lhi_claim_mark(struct lhi_view *v, struct shm_claim *c, uint64_t owner,
    uint64_t st, uint64_t ended, uint64_t deadline)
{
	if (lhi_named_ended(v, owner) && !lhi_mutant_on(marks_ended))
		return -ESTALE;
	return sh64_cas(&c->state, st, state_make(ended, state_seq(st),
	    deadline)) ? 0 : -EAGAIN;			/* claim #6, #18 */
}

static enum lhi_cause
cause_of_state(uint64_t st, enum lhi_cause held_cause)
{
	switch (state_kind(st)) {
	case ST_HELD:
	case ST_READ:
		return held_cause;
	case ST_EXPIRED:
		return CAUSE_EXPIRED;
	case ST_BROKEN:
		return CAUSE_BROKEN;
	default:
		return CAUSE_RELEASED;
	}
}

/* A live owner's reader is not marked while it is HELD or IDLE: end it first */
static void
revoke_reader(struct shm_claim *c, uint64_t st)
{
	(void)sh64_cas(&c->state, st,
	    state_make(ST_REVOKED, state_seq(st), 0));	/* claim #14, #15 */
	lhi_point("claim.revoked");
}

void
lhi_claim_leave_chain(struct lhi_view *v, uint32_t ci, bool dead)
{
	struct shm_claim *c = &v->claims[ci];
	struct shm_slot *s = lhi_slot(v, lhi_claim_slot(c));
	uint64_t st = sh64_load(&c->state);

	if ((state_kind(st) != ST_READ && state_st(st) != ST_IDLE) ||
	    s == NULL || word_mode(sh64_load(&s->word)) != WORD_S)
		return;
	if (dead) {
		delay_if_moved(v, s, ci);
		if (lhi_readers_mark(v, c) && state_kind(st) == ST_READ)
			lhi_lock_report_end(v, ci, 1, CAUSE_DIED, 0);
	} else {
		revoke_reader(c, st);
		(void)lhi_readers_leave(v, s, ci, state_seq(st), false);
	}
}

/* True if the dead session's claim, which was held to the end in state st, held
 * its key.  (was_freed: reclaiming has found it in the word.) */
static bool
has_held_key(const struct lhi_view *v, uint32_t ci, uint64_t st, bool was_freed)
{
	return was_freed || !lhi_named_moving(v, ci, st) ||
	    (state_kind(st) == ST_READ &&
	    link_idx(sh64_load(&v->claims[ci].rnext)) == LINK_OUT);
}

/*
 * The key that claim ci of a dead session held is free: evicts it, if the
 * session is one at whose end its keys go.
 */
static void
forget_key(struct lhi_view *v, uint32_t ci)
{
	uint64_t slot_ref = sh64_load(&v->claims[ci].slot_ref), w;
	struct shm_slot *s = lhi_slot(v, (uint32_t)slot_ref);
	struct lhi_ref ref = { s, slot_ref };

	if (s == NULL || !lhi_named_deletes(v, lhi_claim_owner(v, ci)) ||
	    lhi_mutant_on(ended_keys_stay))
		return;
	w = sh64_load_sc(&s->word);
	if (sh32_load(&s->gen) != slot_ref >> 32 || word_mode(w) != WORD_FREE)
		return;
	(void)lhi_slot_unkeep(v, &ref);
	lhi_point("named.forgetting");
	(void)lhi_evict_slot(v, s, w);
}

static int
end_claim(struct lhi_view *v, uint32_t ci, bool dead)
{
	struct shm_claim *c = &v->claims[ci];
	enum lhi_cause held_cause = dead ?
	    lhi_named_cause(v, lhi_claim_owner(v, ci)) : CAUSE_RELEASED;
	uint32_t n = 0;
	uint64_t st;
	bool out;
	int error;

	while (state_st(st = sh64_load(&c->state)) != ST_FREE) {
		if (!LHI_WITHIN(n, LHI_SWAPS_MAX))
			return lhi_damaged_restless(v, "the state of a claim",
			    ci);
		if (lhi_mutant_on(insert_freed_first) &&
		    state_kind(st) == ST_INSERT)
			(void)sh64_cas(&c->state, st, state_freed(st));
		switch (state_kind(st)) {
		case ST_HELD:
		case ST_READ:
			out = lhi_lock_free_for(v, ci, held_cause);
			if (!dead) {
				revoke_reader(c, st);
				continue;
			}
			if (lhi_mutant_on(unnamed_stays) && !out)
				return 0;
			error = leave_key(v, ci, held_cause);
			if (has_held_key(v, ci, st, out))
				forget_key(v, ci);
			break;
		case ST_IDLE:
			revoke_reader(c, st);
			continue;
		case ST_EXPIRED:
		case ST_BROKEN:
		case ST_REVOKED:
			error =
			    leave_key(v, ci, cause_of_state(st, held_cause));
			break;
		case ST_WAIT:
			if (lhi_mutant_on(wait_unburied))
				return 0;
			error = leave_queue(v, ci);
			break;
		case ST_INSERT:
			error = lhi_mutant_on(insert_unsettled) ? 0 :
			    lhi_slot_settle_insert(v, ci);
			break;
		default:
			return lhi_damaged(v, "a claim in no known state", ci,
			    st);
		}
		if (error != 0)
			return error;
		lhi_point("claim.buried");
		(void)sh64_cas(&c->state, st, state_freed(st));
	}
	return 0;
}

int
lhi_claim_reclaim_dead(struct lhi_view *v, uint32_t ci)
{
	return end_claim(v, ci, true);
}

int
lhi_claim_close(struct lhi_view *v, uint32_t ci)
{
	return end_claim(v, ci, false);
}

bool
lhi_claim_reclaim(struct lhi_view *v, uint32_t ci, bool idle_too)
{
	struct shm_claim *c = &v->claims[ci];
	uint64_t st = sh64_load(&c->state);

	if (idle_too && state_st(st) == ST_IDLE) {
		revoke_reader(c, st);
		st = sh64_load(&c->state);
	}
	/* a claim in the middle of a hand-off to us, or a release, belongs to
	 * no word: no other process ends it */
	if (state_held(st) && lhi_now_ns(v) >= lhi_deadline_ns(v,
	    state_deadline(st)) && lhi_view_same_time(v) &&
	    lhi_claim_mark(v, c, lhi_claim_owner(v, ci), st, ST_EXPIRED,
	    state_deadline(st)) == 0)
		st = sh64_load(&c->state);
	switch (state_st(st)) {
	case ST_FREE:
		return true;
	case ST_EXPIRED:
	case ST_BROKEN:
	case ST_REVOKED:
		if (leave_key(v, ci, cause_of_state(st, CAUSE_RELEASED)) != 0)
			return false;
		lhi_point("claim.reclaimed");
		return sh64_cas(&c->state, st, state_freed(st));
	default:
		return false;
	}
}
