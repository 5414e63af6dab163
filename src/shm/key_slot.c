/* SPDX-License-Identifier: MIT */
/*
 * Slots: finds a key's slot, links and flags it, and completes or undoes
 * half-done changes.  Keys are made in key_make.c, their tokens are in
 * key_token.c, their place in the list in key_index.c.
 *
 * Slots are type-stable: never unmapped, never anything else than slots.  A
 * lookup therefore takes no lock and no reference; it validates as it goes
 * (key_index.c, key_bytes.c). The final proof that the slot is still the key is
 * the swap of its lock word, whose version changes when a slot changes lives.
 *
 * Invariants.
 *  I1	hash, key and gen of a linked slot are constant; they are complete
 *	before the word becomes FREE, and the slot is linked only after that
 *	(amendment C15).
 *  I2	A slot is linked by a swap that proves that the key was missing.
 *  I3	A process that reserves a slot has announced it in an INSERT claim
 *	first.
 *  I4	slot.maker and slot.gen name the claim that made this life of the slot;
 *	they are stored only while the word is RESERVED by that claim.
 *
 * A lookup, or an insertion, that finds a slot which may be its key, and has no
 * key now, completes the slot's eviction and begins again.
 *
 * A crash of a process that makes a key leaves an INSERT claim.  Reclaiming
 * that claim undoes the key, unless the slot is linked: then the key exists.
 */
#include <errno.h>
#include "shm/counters.h"
#include "shm/damaged.h"
#include "shm/evict.h"
#include "shm/key_index.h"
#include "shm/key_slot.h"
#include "shm/key_token.h"
#include "shm/lock_word.h"

#define PASSES_MAX LHI_SWAPS_MAX

/* Reports that slot s keeps the list from being walked: it has no key, and does
 * not change. */
static int
report_stuck(struct lhi_view *v, const struct shm_slot *s)
{
	return lhi_damaged(v, "the list of keys cannot be walked",
	    lhi_slot_idx(v, s), sh64_load(&s->word));
}

int
lhi_slot_find_again(struct lhi_view *v, const struct lhi_key_name *n,
    struct lhi_ref *ref)
{
	for (uint32_t pass = 0; pass < PASSES_MAX; pass++) {
		int error = lhi_evict_finish(v, ref->slot), found;

		if (error < 0)
			return error;
		found = lhi_index_find(v, n, ref);
		if (found != -EAGAIN)
			return found;
	}
	return report_stuck(v, ref->slot);
}

int
lhi_slot_insert(struct lhi_view *v, struct shm_slot *s,
    const struct lhi_key_name *n, struct lhi_ref *ref)
{
	for (uint32_t pass = 0; pass < PASSES_MAX; pass++) {
		int found = lhi_index_insert(v, s, n, ref), error;

		if (found != -EAGAIN)
			return found;
		error = lhi_evict_finish(v, ref->slot);
		if (error < 0)
			return error;
	}
	return report_stuck(v, ref->slot);
}

bool
lhi_slot_flag(struct lhi_view *v, const struct lhi_ref *ref, uint32_t flag)
{
	struct shm_slot *s = ref->slot;
	uint32_t gen = (uint32_t)(ref->slot_ref >> 32), info, n = 0;

	do {
		info = sh32_load(&s->key_info);
		if ((info ^ KEY_LIFE(gen)) & ~KEY_SAID)
			return false;
	} while (!sh32_cas(&s->key_info, info, info | flag) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX));
	if (LHI_REACHED(n, LHI_SWAPS_MAX)) {
		(void)lhi_damaged_restless(v, "what a slot says of its key",
		    lhi_slot_idx(v, s));
		return false;
	}
	/* pairs with: the evictor swaps the word, then looks at the flag */
	return word_mode(sh64_load_sc(&s->word)) != WORD_NONE &&
	    sh32_load(&s->gen) == gen;
}

bool
lhi_slot_unkeep(struct lhi_view *v, const struct lhi_ref *ref)
{
	uint32_t gen = (uint32_t)(ref->slot_ref >> 32), info, n = 0;

	do {
		info = sh32_load(&ref->slot->key_info);
		if (!(info & KEY_KEPT) || ((info ^ KEY_LIFE(gen)) &
		    ~KEY_SAID))
			return false;
	} while (!sh32_cas(&ref->slot->key_info, info, info & ~KEY_KEPT) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX));
	if (!LHI_REACHED(n, LHI_SWAPS_MAX))
		return true;
	(void)lhi_damaged_restless(v, "what a slot says of its key",
	    lhi_slot_idx(v, ref->slot));
	return false;
}

int
lhi_slot_undo(struct lhi_view *v, struct shm_slot *s, uint32_t ci)
{
	uint64_t w = sh64_load_sc(&s->word);
	int linked;

	if (word_mode(w) == WORD_FREE) {
		if (sh32_load(&s->maker) != ci || sh32_load(&s->gen) !=
		    sh64_load(&v->claims[ci].slot_ref) >> 32)
			return 0;
		linked = lhi_index_linked(v, s, sh64_load(&s->hash));
		if (linked != 0)
			return linked < 0 ? linked : 0;
	} else if (word_mode(w) != WORD_NONE || word_idx(w) != ci) {
		return 0;
	}
	linked = lhi_slot_cover(v, lhi_lock_token(s, w));
	if (linked < 0)
		return linked;
	if (sh64_cas(&s->word, w,
	    word_make(WORD_NONE, NONE_UNUSED, word_ver(w) + 1)))
		(void)sh32_fetch_add(&v->hdr->slot_freed, 1);
	return 0;
}

int
lhi_slot_settle_insert(struct lhi_view *v, uint32_t ci)
{
	struct shm_slot *s = lhi_slot(v, lhi_claim_slot(&v->claims[ci]));

	if (s == NULL)
		return 0;
	lhi_counters_add(v, STAT_COMPLETIONS, 1);
	return lhi_slot_undo(v, s, ci);
}
