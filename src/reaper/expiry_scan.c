/* SPDX-License-Identifier: MIT */
/*
 * Ends leases at their deadlines, although acquirers do not announce each
 * deadline.  reap.c calls it.
 *
 * A queue of deadlines would make every acquire slower.  Instead the reaper
 * scans the claims of each chunk now and then, and computes when it has to scan
 * them again.
 *
 *	chunk.period	the shortest TTL in use in the chunk since the reaper's
 *			last scan, in deadline units.  A thread that is about to
 *			make leases with a shorter TTL lowers it: for its next
 *			fast grants, when it reads the clock anew (every tick
 *			while it is active) or takes another group; for a slow
 *			grant or extension, each time
 *	at		(private) when the chunk is scanned next
 *
 *	scan, at T	swaps the period p for PERIOD_NONE, then reads the
 *			claims.  Leases that are due are ended; d is the
 *			earliest deadline of the others.  Next scan: min(d, T +
 *			p)
 *	walk		every 40 ms, over all periods.  If one was lowered to p
 *			since the last walk, at W, the next scan is at W + p or
 *			before
 *
 * So a chunk with active leases is scanned about once per TTL, and a chunk of
 * an idle process never, however many leases it has.  A walk also scans the
 * chunks that become due before the next walk.  By then most of their leases
 * were released or extended, so the reaper need not wake up for each.  Leases
 * that are really due are scanned again at their time.
 *
 * Why no deadline is missed.  The deadline of a fast grant is its tick + its
 * TTL.  The TTL was announced at that tick, before the grant.  A slow grant
 * announces it before it computes the deadline.  Consider a lease that the scan
 * at T did not see.  Its announcement came either
 *
 * - after the swap at T.  Then the period is lower again, the walk sees it, and
 *   the deadline is not before the last walk + p.
 * - or before that swap.  Then p was at most its TTL, and the grant came after
 *   T in the same tick as the announcement (in any other tick the announcement
 *   is repeated).  So its deadline is not before T + p, up to the length of a
 *   tick.
 *
 * Fast extensions only move a deadline forward.  SLACK covers the ticks, and a
 * process that is delayed between reading the clock and the announcement.
 *
 * Nothing depends on this scan.  If a process stops between clock and
 * announcement, or a period is overwritten, the reaper is early or late.  Then
 * the slow round over the keys (sweep.c) ends the lease within a minute, and a
 * process that wants the key checks its deadline anyway.  For the same reason
 * no memory order is needed: periods and states are read or swapped one at a
 * time, and each wrong order is one of these cases.
 *
 * A lease is ended as a waiter does it (shm/lock_word.c): read the word, swap
 * the claim's state exactly, then swap exactly that word (amendment C3).  A
 * reader's claim is ended and leaves its chain as in extend and verify.  Idle
 * readers have no deadline and stay.  A claim past its deadline that no word
 * names was announced by a process that has not swapped the word yet, or has
 * just released it.  Such a claim is left to its owner.
 */
#include <errno.h>
#include <stdlib.h>
#include "base/error.h"
#include "op/policy.h"
#include "reaper/reap_ops.h"
#include "shm/readers.h"
#include "shm/claim_record.h"
#include "shm/events.h"
#include "shm/lock_word.h"
#include "shm/counters.h"

#define SLACK_NS (10 * NS_PER_MS)
#define LEFT_NS NS_PER_SEC	/* interval of scans for claims left to their
				 * owners */

int
lhi_expiry_scan_begin(struct lhi_reaper *r)
{
	/* memory is touched only for the chunks that exist */
	r->at = calloc(r->v.geo.n_chunks, sizeof(*r->at));
	r->chunk = calloc(r->v.geo.n_chunks, sizeof(*r->chunk));
	return r->at == NULL || r->chunk == NULL ?
	    lhi_fail(-ENOMEM, "out of memory") : 0;
}

void
lhi_expiry_scan_end(struct lhi_reaper *r)
{
	free(r->at);
	free(r->chunk);
}

/* Returns t + period - SLACK.  The period comes from shared memory and may be
 * anything. */
static int64_t
period_end_ns(int64_t t, uint64_t period)
{
	return period > DEADLINE_MAX ? REAP_NEVER :
	    t + (int64_t)(period << TICK_SHIFT) - SLACK_NS;
}

void
lhi_expiry_scan_walk(struct lhi_reaper *r, int64_t now_ns)
{
	uint32_t ready = lhi_chunks_ready(&r->v);

	for (; r->chunks < ready; r->chunks++)
		r->at[r->chunks] = REAP_NEVER;
	for (uint32_t ch = 1; ch < ready; ch++) {
		struct shm_chunk *c = &r->v.chunks[ch];
		uint64_t owner = sh64_load(&c->owner), period;
		struct reap_chunk *known = &r->chunk[ch];
		int64_t at;

		if (owner != known->owner) {
			*known = (struct reap_chunk){ owner, PERIOD_NONE };
			r->at[ch] = owner == 0 ? REAP_NEVER : now_ns;
		}
		if (owner == 0)
			continue;
		lhi_death_watch_add(r, owner);
		period = sh64_load(&c->period);
		if (period < known->period) {
			at = period_end_ns(r->walked_ns, period);
			if (at < r->at[ch])
				r->at[ch] = at;
		}
		known->period = period;
	}
	r->walked_ns = now_ns;
}

/* Ends the lease of a reader in state st, whose deadline has passed, and
 * removes it from the chain of readers. */
static void
expire_reader(struct lhi_reaper *r, struct shm_slot *s, uint32_t ci,
    uint64_t st)
{
	if (!lhi_view_same_time(&r->v) ||
	    lhi_claim_mark(&r->v, &r->v.claims[ci], lhi_claim_owner(&r->v, ci),
		st, ST_EXPIRED, state_deadline(st)) != 0)
		return;
	lhi_point("due.expired");
	lhi_counters_ended(&r->v, lhi_claim_owner(&r->v, ci), CAUSE_EXPIRED);
	lhi_event_ended(&r->v, CAUSE_EXPIRED, ci, 0);
	lhi_reap_note_damage(r, lhi_readers_leave(&r->v, s, ci, state_seq(st),
	    false));
}

/* Ends the lease of claim ci in state st if its deadline has passed, or
 * completes what its end has left. */
static void
settle_claim(struct lhi_reaper *r, uint32_t ci, uint64_t st, int64_t now_ns)
{
	struct shm_slot *s = lhi_slot(&r->v, lhi_claim_slot(&r->v.claims[ci]));
	uint64_t w;

	if (s == NULL)
		return;
	w = sh64_load_sc(&s->word);
	lhi_point("due.word_loaded");
	if (word_mode(w) == WORD_X && word_idx(w) == ci)
		lhi_reap_note_damage(r,
		    lhi_lock_settle(&r->v, s, now_ns, 0, &w));
	else if (word_mode(w) == WORD_S && (state_kind(st) == ST_READ ||
	    (state_kind(st) == ST_HELD && word_idx(w) == ci)))
		expire_reader(r, s, ci, st);
}

/* Scans the claims of a chunk.  Returns when it has to be scanned again because
 * of them. */
static int64_t
scan_claims(struct lhi_reaper *r, uint32_t ch, int64_t now_ns)
{
	int64_t next = REAP_NEVER;

	for (uint32_t i = 0; i < SHM_CHUNK; i++) {
		uint32_t ci = ch * SHM_CHUNK + i;
		shm_u64 *state = &r->v.claims[ci].state;
		uint64_t st = sh64_load(state), was = st;
		int64_t end = lhi_deadline_ns(&r->v, state_deadline(st));

		if ((state_held(st) && now_ns >= end) ||
		    state_st(st) == ST_EXPIRED || state_st(st) == ST_BROKEN) {
			settle_claim(r, ci, st, now_ns);
			st = sh64_load(state);
			end = lhi_deadline_ns(&r->v, state_deadline(st));
			r->counts.expired += state_held(was) &&
			    state_st(st) == ST_EXPIRED;
		}
		if (!state_held(st))
			continue;
		if (state_live(st) && now_ns < end) {
			lhi_policy_tend(&r->v, ci, st, now_ns);
			st = sh64_load(state);
			end = lhi_policy_next_look_ns(&r->v, ci, st, now_ns);
		}
		if (now_ns >= end)
			end = now_ns + LEFT_NS;
		if (end < next)
			next = end;
	}
	return next;
}

/* Scans a chunk and sets the time of its next scan. */
static void
scan_chunk(struct lhi_reaper *r, uint32_t ch, int64_t now_ns)
{
	shm_u64 *period = &r->v.chunks[ch].period;
	uint64_t told = sh64_load(period);
	int64_t next, again = REAP_NEVER;

	r->counts.visited++;
	if (told != PERIOD_NONE) {
		told = sh64_xchg(period, PERIOD_NONE);
		again = period_end_ns(now_ns, told);
		if (again < now_ns + REAP_WALK_NS)
			again = now_ns + REAP_WALK_NS;
	}
	r->chunk[ch].period = PERIOD_NONE;
	lhi_point("due.period_taken");
	next = scan_claims(r, ch, now_ns);
	r->at[ch] = next < again ? next : again;
}

int64_t
lhi_expiry_scan_run_due(struct lhi_reaper *r, int64_t now_ns, int64_t by_ns)
{
	uint32_t ch = r->due_hand;	/* so that every chunk gets its turn */
	int64_t next = REAP_NEVER;
	bool spent = false;

	for (uint32_t i = 0; i < r->chunks; i++, ch++) {
		if (ch >= r->chunks)
			ch = 0;
		if (r->at[ch] <= by_ns && !spent) {
			scan_chunk(r, ch, now_ns);
			spent = lhi_reap_is_spent(r);
			r->due_hand = ch + 1;
		}
		if (r->at[ch] < next)
			next = r->at[ch];
	}
	return next;
}

void
lhi_expiry_scan_free_dead(struct lhi_reaper *r, uint64_t sid, int64_t now_ns)
{
	for (uint32_t ch = 1; ch < r->chunks; ch++) {
		if (sh64_load(&r->v.chunks[ch].owner) != sid)
			continue;
		for (uint32_t i = 0; i < SHM_CHUNK; i++) {
			uint32_t ci = ch * SHM_CHUNK + i;
			uint64_t st = sh64_load(&r->v.claims[ci].state);
			struct shm_slot *s = lhi_slot(&r->v,
			    lhi_claim_slot(&r->v.claims[ci]));
			uint64_t w;

			if (s != NULL && state_held(st))
				lhi_reap_note_damage(r, lhi_lock_settle(&r->v,
				    s, now_ns, 0, &w));
		}
	}
}
