/* SPDX-License-Identifier: MIT */
/*
 * Making keys: finds room for a new key, and makes it.
 *
 * A crash (K) leaves a state that is completed when the maker's claim is
 * reclaimed (key_slot.c). A stop costs one slot while it lasts, and delays no
 * other process.  The steps:
 *	1 claim: INSERT, slot	K: nothing to undo
 *	2 word: UNUSED -> RESERVED(claim)	K: -> UNUSED
 *	3 gen, then the rest	K: -> UNUSED
 *	4 the place in the list is found; then the floor is read;
 *	  hint, then word: RESERVED -> FREE(low bits of hint)
 *	  (amendment C7)	K: not linked and made by this claim: -> UNUSED
 *	5 linked at that place, or step 4 again
 *				K: the key exists, and may be evicted, and the
 *	  slot another's: it is not read any more, except for the log
 *	6 claim: FREE
 *
 * Room is searched for
 *	1 if some were freed: in 64 places
 *	2 among those that were never used
 *	3 by growing (backing_grow.c)
 *	4 everywhere, completing evictions, evicting idle keys: at first only
 *	  those not used since the hand last passed them, and after 1,024 that
 *	  were used, any
 * The beginning of the search and the number of freed slots are hints: any
 * value is safe.
 */
#include <errno.h>
#include "base/clock.h"
#include "base/error.h"
#include "shm/damaged.h"
#include "shm/backing_grow.h"
#include "shm/claim_record.h"
#include "shm/counters.h"
#include "shm/events.h"
#include "shm/evict.h"
#include "shm/key_make.h"
#include "shm/key_write.h"
#include "shm/session_reclaim.h"
#include "shm/value_record.h"

#define LOOKS 64

/* Steps 1 and 2: announce and reserve slot idx, if it is unused. */
static struct shm_slot *
reserve_slot(struct lhi_view *v, uint32_t ci, uint32_t idx)
{
	struct shm_slot *s = lhi_slot(v, idx);
	uint64_t w;

	if (s == NULL)
		return NULL;
	w = sh64_load(&s->word);
	if (word_mode(w) != WORD_NONE || word_idx(w) != NONE_UNUSED)
		return NULL;
	sh64_store(&v->claims[ci].slot_ref, lhi_slot_ref(idx, sh32_load(&s->gen)
	    + 1));
	lhi_point("slot.announced");
	return sh64_cas(&s->word, w, word_make(WORD_NONE, ci,
	    word_ver(w) + 1)) ? s : NULL;
}

static struct shm_slot *
take_freed_slot(struct lhi_view *v, uint32_t ci)
{
	struct shm_header *h = v->hdr;
	uint32_t n = lhi_slots_ready(v);
	uint32_t freed = sh32_load_rlx(&h->slot_freed);
	uint32_t from = sh32_load_rlx(&h->slot_hand) % n;

	for (uint32_t i = 0; freed > 0 && i < LOOKS; i++) {
		struct shm_slot *s = reserve_slot(v, ci, (from + i) % n);

		if (s != NULL) {
			sh32_store_rlx(&h->slot_hand, from + i + 1);
			(void)sh32_cas(&h->slot_freed, freed, freed - 1);
			return s;
		}
	}
	if (freed > 0) {
		sh32_store_rlx(&h->slot_hand, from + LOOKS);
		/* too high a count goes down, by half in each round */
		if (from + LOOKS >= n)
			(void)sh32_cas(&h->slot_freed, freed, freed / 2);
	}
	return NULL;
}

/* Reserves the first unused one of from .. to. */
static struct shm_slot *
take_unused_slot(struct lhi_view *v, uint32_t ci, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		struct shm_slot *s = reserve_slot(v, ci, i);

		if (s != NULL) {
			sh32_store_rlx(&v->hdr->slot_next, i + 1);
			return s;
		}
	}
	return NULL;
}

static int
take_any_slot(struct lhi_view *v, uint32_t ci, struct shm_slot **s)
{
	uint32_t n = lhi_slots_ready(v);
	uint32_t from = sh32_load_rlx(&v->hdr->slot_hand) % n;
	uint32_t spares = n < LHI_SPARES ? n : LHI_SPARES;
	int64_t now_ns = lhi_now_ns(v);

	(void)lhi_session_reclaim_dead(v); /* keys held by the dead do not
					    * matter */
	for (uint32_t i = 0; i < n + spares; i++) {
		uint32_t idx = (from + i) % n;
		int gone = lhi_evict_idle(v, idx, now_ns, i < spares);

		if (gone < 0)
			return gone;
		*s = gone ? reserve_slot(v, ci, idx) : NULL;
		if (*s != NULL) {
			uint32_t freed = sh32_load_rlx(&v->hdr->slot_freed);

			sh32_store_rlx(&v->hdr->slot_hand, idx + 1);
			if (freed > 0)
				(void)sh32_cas(&v->hdr->slot_freed, freed,
				    freed - 1);
			return 0;
		}
	}
	return -ENOSPC;
}

static int
find_slot(struct lhi_view *v, uint32_t ci, struct shm_slot **s)
{
	int grown = 1, error;
	uint32_t n = 0;

	*s = take_freed_slot(v, ci);
	if (*s == NULL)
		*s = take_unused_slot(v, ci, sh32_load_rlx(&v->hdr->slot_next),
		    lhi_slots_ready(v));
	while (*s == NULL && grown == 1 && LHI_WITHIN(n, LHI_GROWS_MAX)) {
		uint32_t from = lhi_slots_ready(v);

		grown = lhi_grow_slots(v);
		if (grown == 1)
			*s = take_unused_slot(v, ci, from, lhi_slots_ready(v));
	}
	if (*s != NULL)
		return 0;
	if (LHI_REACHED(n, LHI_GROWS_MAX))
		return lhi_damaged_restless(v, "the count of slots", n);
	error = take_any_slot(v, ci, s);
	if (error != -ENOSPC)
		return error;
	if (grown < 0 && grown != -ENOSPC)
		return grown;
	return lhi_fail(-ENOSPC, "there is no room for another key: all %u "
	    "are held, waited for, kept (lh_key_create()), inconsistent "
	    "(robust) or have a value; %s",
	    lhi_slots_ready(v) - 1, grown < 0 ? "and there is no memory for "
	    "more: make room in /dev/shm, or enlarge it" :
	    "use a table with more keys");
}

/* Step 3. */
static int
fill_slot(struct lhi_view *v, struct shm_slot *s, const struct lhi_key_name *n,
    uint32_t ci)
{
	int error;

	/* before the key: a reader reads this first and last */
	(void)sh32_xchg(&s->gen,
	    (uint32_t)(sh64_load_rlx(&v->claims[ci].slot_ref) >> 32));
	sh32_store(&s->maker, ci);
	sh32_store(&s->consistency, 0);
	error = lhi_value_forget(v, s);
	if (error == 0)
		error = lhi_key_write(v, s, n);
	lhi_point("slot.filled");
	return error;
}

static void
report_made(struct lhi_view *v, const struct shm_slot *s)
{
	lhi_counters_add(v, STAT_KEYS_MADE, 1);
	lhi_event_key(v, LH_LOG_KEY_MADE, s, 0);
}

int
lhi_slot_make(struct lhi_view *v, const struct lhi_key_name *n, uint32_t ci,
    struct lhi_ref *ref)
{
	struct shm_claim *c = &v->claims[ci];
	uint64_t seq;
	struct shm_slot *s;
	int error = lhi_slot_find(v, n, ref);

	if (error != 0)
		return error < 0 ? error : 0;
	seq = lhi_claim_next_seq(v, c, sh64_load(&c->state));
	sh64_store_rlx(&c->slot_ref, 0);
	sh64_store(&c->state, state_make(ST_INSERT, seq, 0));
	lhi_counters_spent(v);
	error = find_slot(v, ci, &s);
	if (error == 0) {
		error = fill_slot(v, s, n, ci);
		if (error == 0)	/* steps 4, 5 */
			error = lhi_slot_insert(v, s, n, ref);
		if (error != 0)
			(void)lhi_slot_undo(v, s, ci);
		else
			report_made(v, s);
	}
	lhi_point("slot.made");
	sh64_store(&c->state, state_make(ST_FREE, seq, 0));
	/* 1: another process made it meanwhile.  In zeros a key can be made as
	 * in an empty table */
	return lhi_damaged_or(v, error == 1 ? 0 : error);
}
