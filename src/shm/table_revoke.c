/* SPDX-License-Identifier: MIT */
/*
 * Removal by force: makes every process notice that its table was removed, even
 * one that only acquires and releases one key.
 *
 * The straight paths (swap_usual(), a revived reader) read two words of a key,
 * its lock word and the first link of its wait queue, and no flag.  The lock
 * word must be the very one that the same claim's last release left; the queue
 * must be empty.  So a removal revokes both.  It does so after the flag RETIRED
 * is set (table_remove.c, RM1), and before the name is free and a new table can
 * grant (RM4). For each slot that has a key:
 *
 *	RV1	slot.waitq is marked.  The mark stays: a process that writes
 *		that link keeps it (wait_queue.c).
 *	RV2	idle readers are revoked; then a lock word that is FREE or S is
 *		replaced by the next version of itself.
 *
 * All other paths that grant load the lock word, then the flag, then swap
 * exactly that word.
 *
 * Invariants.
 *  I1	No straight grant comes after RV2.  One that loads the queue's link
 *	after RV1 sees the mark.  One that loaded it before RV1 remembers the
 *	word from before that.  A word that was FREE or S then is not the same
 *	any more, and one that was X at RV2 is not the one that it remembers,
 *	because versions do not return.  It fails its swap.  (A reader is
 *	revived by a swap of its claim: idle at RV2, it is revoked; idle later,
 *	its release and its next revival see the mark.)
 *  I2	No other grant comes after RV2.  One that loads the word after RV2 loads
 *	the flag after that, and sees it.  One that loaded it before RV2 fails
 *	its swap, as above.
 *  I3	A lease that is held stays held, and may be extended, converted and
 *	handed over: an exclusive word is not changed, and a reader's grant is
 *	its claim.
 *
 * A slot without a key is left alone: the next key there has another version
 * than any claim remembers, so its first grant reads the flag (I2).
 *
 * Ordering.  RV1 and RV2 are locked swaps, in that order; the grants' loads are
 * in theirs.  tests/model/revoke.pml has it with store buffers.
 *
 * A crash of the remover in here leaves a table with the flag under the name.
 * No new one can be made before the next process that opens the name has
 * completed the removal, with all of this.  A second pass changes versions once
 * more.
 *
 * Cost: one pass over the slots that have memory.
 */
#include "shm/backing.h"
#include "shm/evict.h"
#include "shm/table_revoke.h"

/* RV1.  False: the link keeps changing. */
static bool
mark_queue(struct shm_slot *s)
{
	uint32_t n = 0;
	uint64_t q;

	do {
		q = sh64_load(&s->waitq);
	} while (!link_marked(q) && !sh64_cas(&s->waitq, q,
	    link_make(true, link_idx(q), link_tag(q) + 1)) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX));
	return !LHI_REACHED(n, LHI_SWAPS_MAX);
}

/* RV2.  False: the word keeps changing. */
static bool
pass_word(struct lhi_view *v, struct shm_slot *s)
{
	uint32_t n = 0;
	uint64_t w;

	(void)lhi_evict_revoke(v, s, &w);
	do {
		w = sh64_load_sc(&s->word);
		if (word_mode(w) != WORD_FREE && word_mode(w) != WORD_S)
			return true;
	} while (!sh64_cas(&s->word, w, word_make(word_mode(w), word_idx(w),
	    word_ver(w) + 1)) && LHI_WITHIN(n, LHI_SWAPS_MAX));
	return !LHI_REACHED(n, LHI_SWAPS_MAX);
}

/* Returns how many slots may have keys, as the file says: the header's word is
 * any member's to lower. */
static uint32_t
count_slots(const struct lhi_view *v, int fd)
{
	uint32_t n = lhi_slots_ready(v);
	struct lhi_backing seen;

	if (lhi_mutant_on(revoked_by_words) ||
	    lhi_backing_seen(fd, &v->geo, &seen) != 0 || seen.slots < n)
		return n;
	return seen.slots < v->geo.n_slots ? seen.slots : v->geo.n_slots;
}

bool
lhi_table_revoke(struct lhi_view *v, int fd)
{
	uint32_t n = count_slots(v, fd);

	for (uint32_t i = 1; i < n && i < v->geo.n_slots; i++) {
		struct shm_slot *s = &v->slots[i];

		if (word_mode(sh64_load(&s->word)) == WORD_NONE)
			continue;
		if (!lhi_mutant_on(removed_unmarked) && !mark_queue(s))
			return false;
		lhi_point("revoke.marked");
		if (!lhi_mutant_on(removed_unpassed) && !pass_word(v, s))
			return false;
	}
	return true;
}
