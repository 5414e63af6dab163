/* SPDX-License-Identifier: MIT */
/*
 * The lock word: says whether a key is held, and frees it for others.
 *
 * The word and the holder's claim state are all that exclusion relies on:
 *
 *	X(c, ver)	claim c holds the key; its state says until when
 *	S(h, ver)	the claims chained from h may hold it together
 *			(shm/readers.c); ver is that of the last one's push
 *	FREE(cause, ver) the key is free; ver is that of the last grant
 *
 * Its transitions are W1 to W17 in doc/protocol.md ("Lock word").
 *
 * Invariants.
 *  I1	ver grows with every grant: a word value never returns, so a swap from
 *	an exact value proves that nothing happened in between.
 *  I2	While the word is X(c, ver), claim c is in the use that was announced
 *	for this grant: its state is HELD, or terminal (EXPIRED, BROKEN).  It is
 *	used again only after its owner has seen another word here.
 *  I3	Only the winner of a swap away from X(c, ver) may say how it ended; the
 *	cause is in the FREE word, for the next holder.
 *
 * Freeing for others.  Load the word; judge the claim; swap exactly that word.
 *	HELD, deadline past	swap the state to EXPIRED first: extend swaps
 *				the same word, so one of the two loses (G3)
 *	EXPIRED, BROKEN		a process stopped between the two swaps
 *	HELD, deadline past, and its named session has ended: it is not known
 *				which was first: as the latter, so that the
 *				lock-delay is kept (shm/session_named.c)
 *	session dead		the sticky flag is enough; reclaiming the
 *				session changes the state
 *
 * Evidence is gathered after the word is loaded (amendment C3): evidence from
 * before might be about an earlier use of the claim, and the word about a later
 * one.  Conversely, a claim that is expired although the word has moved on is
 * past its deadline anyway, in whatever use.
 *
 * A crash or stop between the two swaps leaves EXPIRED and X(c): all others
 * repeat the second.  After the second and before the wake-up, the first waiter
 * checks again within 20 ms.
 */
#include <errno.h>
#include "base/clock.h"
#include "shm/damaged.h"
#include "shm/doorbell.h"
#include "shm/readers.h"
#include "shm/events.h"
#include "shm/lock_word.h"
#include "shm/session_liveness.h"
#include "shm/session_named.h"
#include "shm/wait_queue.h"
#include "shm/counters.h"

uint64_t
lhi_lock_token(struct shm_slot *s, uint64_t word)
{
	return token_of(sh64_load(&s->hint), word_ver(word));
}

/* Reports an expiry that this process has made; its word is unchanged. */
static void
report_expired(struct lhi_view *v, uint32_t ci, uint64_t owner)
{
	struct shm_slot *s = lhi_slot(v, lhi_claim_slot(&v->claims[ci]));
	uint64_t w = s != NULL ? sh64_load(&s->word) : 0;

	lhi_counters_ended(v, owner, CAUSE_EXPIRED);
	lhi_event_ended(v, CAUSE_EXPIRED, ci, word_mode(w) == WORD_X &&
	    word_idx(w) == ci ? lhi_lock_token(s, w) : 0);
	lhi_doorbell_ring_claim(v, ci, BELL_LEASE);
}

int
lhi_lock_judge(struct lhi_view *v, uint32_t ci, int64_t now_ns, unsigned how,
    enum lhi_cause *cause)
{
	struct shm_claim *c = &v->claims[ci];
	uint64_t owner = lhi_claim_owner(v, ci);
	uint64_t st = sh64_load(&c->state);

	*cause = CAUSE_RELEASED;
	switch (state_kind(st)) {
	case ST_HELD:
	case ST_READ:
		if (now_ns >= lhi_deadline_ns(v, state_deadline(st)) &&
		    !lhi_named_ended(v, owner)) {
			if (!lhi_view_same_time(v))
				return 0;	/* our clock is not theirs */
			if (!sh64_cas(&c->state, st, state_make(ST_EXPIRED,
			    state_seq(st), state_deadline(st))))
				return -EINTR;			/* claim #6 */
			lhi_point("lock.expired");
			report_expired(v, ci, owner);
			*cause = CAUSE_EXPIRED;
			return 1;
		}
		if (owner != 0 && !(lhi_mutant_on(holder_unproved) &&
		    state_kind(st) == ST_HELD) &&
		    !(lhi_mutant_on(reader_unproved) &&
		    state_kind(st) == ST_READ) && lhi_session_dead(v, owner,
		    how & SETTLE_PROBE)) {
			*cause = lhi_named_cause(v, owner);
			lhi_named_delay_moved(v, ci, st);
			return 1;
		}
		return 0;
	case ST_EXPIRED:
		*cause = CAUSE_EXPIRED;
		return lhi_mutant_on(expired_unfreed) ? 0 : 2;
	case ST_BROKEN:
		*cause = CAUSE_BROKEN;
		return 2;
	case ST_REVOKED:
		return lhi_mutant_on(revoked_stays) ? 0 : 2;
	case ST_IDLE:
		if (!(how & SETTLE_READERS) || lhi_mutant_on(idle_unrevoked))
			return 0;
		if (!sh64_cas(&c->state, st,
		    state_make(ST_REVOKED, state_seq(st), 0)))
			return -EINTR;				/* claim #14 */
		lhi_point("lock.revoked");
		return 1;
	default:
		return -EAGAIN;
	}
}

void
lhi_lock_report_end(struct lhi_view *v, uint32_t ci, int judged,
    enum lhi_cause cause, uint64_t token)
{
	if (judged == 2) {
		lhi_counters_add(v, STAT_COMPLETIONS, 1);
		lhi_doorbell_ring_claim(v, ci, BELL_LEASE);
	} else if (cause == CAUSE_DIED) {	/* others: where judged */
		lhi_counters_ended(v, lhi_claim_owner(v, ci), cause);
		lhi_event_ended(v, cause, ci, token);
	} else if (cause == CAUSE_RELEASED && (token != 0 ||
	    state_held(sh64_load(&v->claims[ci].state)))) {
		lhi_event_ended(v, cause, ci, token); /* session destroyed */
	}
}

/* Returns why a reader that has left the chain ended. */
static enum lhi_cause
cause_of_leaving(struct lhi_view *v, uint32_t ci)
{
	switch (state_kind(sh64_load(&v->claims[ci].state))) {
	case ST_EXPIRED:
		return CAUSE_EXPIRED;
	case ST_BROKEN:
		return CAUSE_BROKEN;
	case ST_HELD:
	case ST_READ:
		return CAUSE_DIED;	/* nothing else is marked while held */
	default:
		return CAUSE_RELEASED;
	}
}

uint64_t
lhi_lock_without(struct lhi_view *v, const struct shm_slot *s, uint64_t w,
    uint32_t ci, uint32_t next)
{
	return next != 0 ? word_make(WORD_S, next, word_ver(w)) :
	    lhi_free_word(s, cause_of_leaving(v, ci), word_ver(w));
}

int
lhi_lock_settle_head(struct lhi_view *v, struct shm_slot *s, uint64_t w,
    int64_t now_ns, unsigned how)
{
	uint32_t ci = word_idx(w);
	struct shm_claim *c = lhi_claim(v, ci);
	enum lhi_cause cause = CAUSE_RELEASED;	/* of an idle one */
	uint64_t l, left;
	int ended;

	if (word_mode(w) != WORD_S)
		return 0;
	if (c == NULL)
		return lhi_damaged(v, "a lock word names no claim",
		    lhi_slot_idx(v, s), w);
	l = sh64_load(&c->rnext);
	lhi_point("lock.link_loaded");
	if (link_marked(l) && lhi_mutant_on(marked_head_stays))
		return 0;
	if (!link_marked(l)) {
		ended = lhi_lock_judge(v, ci, now_ns, how, &cause);
		if (ended <= 0)
			return ended;
		/* the link was read before the verdict (C12) */
		if (!sh64_cas(&c->rnext, l,
		    link_make(true, link_idx(l), link_tag(l) + 1)))
			return -EINTR;
		lhi_point("lock.reader_marked");
		lhi_lock_report_end(v, ci, ended, cause, 0);
		l = link_make(true, link_idx(l), link_tag(l) + 1);
	}
	left = lhi_lock_without(v, s, w, ci, link_idx(l));
	if (!sh64_cas(&s->word, w, left))
		return -EINTR;
	lhi_point("lock.reader_out");
	lhi_readers_out(c, l);
	if (how & SETTLE_READERS)
		sh32_store_rlx(&s->pause_ms,
		    (uint32_t)(lhi_clock_ns(CLOCK_MONOTONIC) /
		    NS_PER_MS) | 1);	/* as the readers' coarse one */
	if (word_mode(left) == WORD_FREE)
		lhi_queue_wake_first(v, s);
	return 1;
}

int
lhi_lock_settle(struct lhi_view *v, struct shm_slot *s, int64_t now_ns,
    unsigned how, uint64_t *word)
{
	uint64_t misfit = 0;
	unsigned passes = 0;
	uint32_t n = 0;

	do {
		uint64_t w = sh64_load_sc(&s->word);
		enum lhi_cause cause;
		int ended;

		*word = w;
		if (word_mode(w) != WORD_X &&
		    (word_mode(w) != WORD_S || !(how & SETTLE_READERS)))
			return 0;
		lhi_point("lock.word_loaded");
		if (lhi_mutant_on(converting_unproved) &&
		    word_mode(w) == WORD_X && state_kind(sh64_load(
		    &v->claims[word_idx(w)].state)) == ST_READ)
			return 0;
		if (word_mode(w) == WORD_S)
			ended = lhi_lock_settle_head(v, s, w, now_ns, how);
		else if (lhi_claim(v, word_idx(w)) == NULL)
			ended = lhi_damaged(v, "a lock word names no claim",
			    lhi_slot_idx(v, s), w);
		else	/* an idle reader holds nothing exclusively */
			ended = lhi_lock_judge(v, word_idx(w), now_ns,
			    how | SETTLE_READERS, &cause);
		if (ended == 0 || ended == -EUCLEAN)
			return ended;
		if (ended == -EINTR)
			continue;	/* others are at work */
		if (ended < 0) {
			/* a change under way; damage is the same misfit each
			 * time */
			if (w != misfit) {
				misfit = w;
				passes = 0;
			} else if (++passes > 1000) {
				return lhi_damaged(v, "a lock word names a "
				    "claim that holds nothing",
				    lhi_slot_idx(v, s), w);
			}
			continue;
		}
		if (word_mode(w) == WORD_S)
			continue;
		if (lhi_mutant_on(word_reloaded))
			w = sh64_load_sc(&s->word);
		if (cause == CAUSE_DIED)
			lhi_named_delay(v, s, lhi_claim_owner(v, word_idx(w)));
		if (sh64_cas(&s->word, w,
		    lhi_free_word(s, cause, word_ver(w)))) {
			lhi_point("lock.freed");
			lhi_queue_wake_first(v, s);
			lhi_lock_report_end(v, word_idx(w), ended, cause,
			    lhi_lock_token(s, w));
		}
		/* each reader of a long chain may have to be taken out */
	} while (LHI_WITHIN(n, LHI_SWAPS_MAX + lhi_hop_limit(v)));
	return lhi_damaged_restless(v, "the lock word of a slot",
	    lhi_slot_idx(v, s));
}

bool
lhi_lock_free_for(struct lhi_view *v, uint32_t ci, enum lhi_cause cause)
{
	struct shm_claim *c = &v->claims[ci];
	struct shm_slot *s = lhi_slot(v, lhi_claim_slot(c));
	uint64_t w;

	if (s == NULL)
		return false;
	w = sh64_load_sc(&s->word);
	if (word_mode(w) != WORD_X || word_idx(w) != ci)
		return false;
	if (cause == CAUSE_DIED)
		lhi_named_delay(v, s, lhi_claim_owner(v, ci));
	if (!sh64_cas(&s->word, w, lhi_free_word(s, cause, word_ver(w))))
		return false;
	lhi_point("lock.freed");
	lhi_queue_wake_first(v, s);
	lhi_lock_report_end(v, ci, 1, cause, lhi_lock_token(s, w));
	return true;
}
