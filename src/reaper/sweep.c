/* SPDX-License-Identifier: MIT */
/*
 * The slow round over the keys: completes half-done operations that no process
 * has touched since, and evicts idle keys.  reap.c calls it.
 *
 * The next process that needs it completes a half-done operation.  Operations
 * that nobody needs wait for this round, which takes at most a minute in a
 * large table:
 *
 *	the word names a claim that has ended,	freed (crash rows X1, S4)
 *	or is past its deadline
 *	free, and there is a queue		the first waiter is woken (crash
 *						row R3)
 *	DYING, COMMITTED			the eviction is completed (crash
 *						row H1)
 *	RESERVED by a dead session		when that session is reclaimed
 *
 * Of readers, only the one at the head of the chain is checked, and idle
 * readers stay.
 *
 * Keys are evicted only if the options ask for it, and only while that many
 * slots are in use.  A key is idle when its word is free and was the same at an
 * earlier check (lhi_idle_ms()).  Two kinds of keys stay:
 *
 * - a key whose last holder died or lost its lease, because its next holder
 *   must learn that (as in lh_evict()); and
 * - a key that idle readers hold, because its word does not show whether they
 *   have returned.
 */
#include <errno.h>
#include "reaper/reap_ops.h"
#include "shm/evict.h"
#include "shm/lock_word.h"
#include "shm/wait_queue.h"
#include "shm/value_record.h"

#define ROUND_NS (60 * NS_PER_SEC)
#define EAGER_ROUND_NS NS_PER_SEC	/* shortest round, if keys are evicted
					 * soon */
#define SOME 64u		/* least slots in a walk */
#define LOOKS 32u		/* slots between two looks at the clock */
#define AHEAD 8u		/* slots prefetched ahead */

/* True if the table is so full that idle keys are evicted. */
static bool
is_crowded(const struct lhi_reaper *r)
{
	uint64_t begun = sh32_load_rlx(&r->v.hdr->slot_next);
	uint64_t freed = sh32_load_rlx(&r->v.hdr->slot_freed);
	uint64_t places = r->v.geo.n_slots;

	return r->opts.evict_idle_ms > 0 && begun > freed &&
	    (begun - freed) * 100 > places * r->opts.evict_above;
}

/* Evicts the key if it is idle.  Its word w is free, and nobody waits. */
static void
evict_if_idle(struct lhi_reaper *r, struct shm_slot *s, uint64_t w,
    int64_t now_ns)
{
	int gone;

	if (word_cause(w) != CAUSE_RELEASED || lhi_slot_valued(s) ||
	    lhi_idle_ms(s, w, 0, now_ns) < r->opts.evict_idle_ms)
		return;
	gone = lhi_evict_slot(&r->v, s, w);
	lhi_reap_note_damage(r, gone);
	r->counts.evicted += gone == 1;
}

static void
sweep_slot(struct lhi_reaper *r, struct shm_slot *s, bool crowded,
    int64_t now_ns)
{
	uint64_t w = sh64_load_sc(&s->word), left = w;
	uint32_t first;

	switch (word_mode(w)) {
	case WORD_NONE:
		if (word_idx(w) == NONE_DYING || word_idx(w) == NONE_COMMITTED)
			lhi_reap_note_damage(r, lhi_evict_finish(&r->v, s));
		left = sh64_load(&s->word);
		break;
	case WORD_X:
		lhi_reap_note_damage(r,
		    lhi_lock_settle(&r->v, s, now_ns, 0, &left));
		break;
	case WORD_S:
		lhi_reap_note_damage(r,
		    lhi_lock_settle_head(&r->v, s, w, now_ns, 0));
		left = sh64_load(&s->word);
		break;
	case WORD_FREE:
		if (link_idx(sh64_load_sc(&s->waitq)) == 0) {
			if (crowded)
				evict_if_idle(r, s, w, now_ns);
			return;
		}
		lhi_reap_note_damage(r,
		    lhi_queue_first(&r->v, s, 0, false, false, &first));
		lhi_queue_wake_first(&r->v, s);
		return;
	}
	r->counts.finished += left != w && word_mode(left) != WORD_X;
}

void
lhi_sweep_slots(struct lhi_reaper *r, int64_t now_ns)
{
	uint32_t n = lhi_slots_ready(&r->v), some;
	int64_t until = lhi_clock_ns(CLOCK_MONOTONIC) +
	    r->budget_ns / REAP_SWEEP_PART, round = ROUND_NS;
	bool crowded = is_crowded(r);

	if (crowded && r->opts.evict_idle_ms < ROUND_NS / NS_PER_MS)
		round = r->opts.evict_idle_ms * NS_PER_MS / 2;
	if (round < EAGER_ROUND_NS)
		round = EAGER_ROUND_NS;
	some = (uint32_t)(n / (round / REAP_WALK_NS)) + SOME;
	for (uint32_t i = 0; i < some && i < n; i++) {
		uint32_t idx = r->slot_hand < n ? r->slot_hand : 0;

		r->slot_hand = idx + 1;
		if (idx + AHEAD < n)
			__builtin_prefetch(&r->v.slots[idx + AHEAD]);
		if (idx != 0)
			sweep_slot(r, &r->v.slots[idx], crowded, now_ns);
		if (i % LOOKS == LOOKS - 1 &&
		    lhi_clock_ns(CLOCK_MONOTONIC) >= until)
			break;
	}
}
