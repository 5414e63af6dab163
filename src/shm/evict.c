/* SPDX-License-Identifier: MIT */
/*
 * Eviction: removes an unused key from the list.
 *
 * The key's tokens must not be forgotten: they continue above the floor of the
 * hash's shard, which is raised to them first (G2).
 *
 *	EV0	word FREE(v), no waiter in the queue, not kept, linked, not
 *		delayed (shm/session_named.c), no right to it
 *		(shm/cluster_right.c; a process that sets one holds the key)
 *	EV1	word FREE(v) -> DYING(v+1)
 *	EV2	if there is a waiter in the queue now, or it is kept:
 *			word DYING(v+1) -> FREE(v+1): it is a key again
 *	EV3	the floor (of the shard, or of all cluster keys) raised to the
 *		token of v+1; before it, if the key has been granted in scope
 *		local, the shard's bit set, so that its next life is bound by
 *		the durable ceiling too
 *	EV4	word DYING(v+1) -> COMMITTED(v+1): no way back
 *	EV5	next l -> marked l, l having been read before the word was seen
 *		to be COMMITTED(v+1); then a walk past its place unlinks it
 *	EV6	word COMMITTED(v+1) -> UNUSED(v+2)
 *
 * Every step is a swap of an exact value, or raises a value that only rises.
 * So any process may do it, again or instead: a lookup that finds its key, a
 * search for an unused slot, and the evicting process itself.
 *
 * Why no step can affect the slot's next life (amendment C15):
 *	word	ver grows with EV1, EV6, the reservation, and never goes back
 *	next	its tag has grown by EV5's mark, which was there before EV6
 *	floor	hint, hash and flags are read before the word is seen to be
 *		still DYING(v+1), so they are of this life, and late is not
 *		wrong
 *	gen	is written by the next reserver alone
 *
 * Other operations meanwhile.
 *	acquire	swaps FREE(v), and fails after EV1
 *	wait	queues first and then reads the word, while the evicting process
 *		swaps the word and then reads the queue (Dekker; all of it
 *		sequentially consistent): one of them sees the other.  A waiter
 *		that finds no key any more leaves, and looks the name up again
 *	keep	the flag is set, then the word read; as with the queue
 *	make	of the same name: finds the dying one, and completes it
 *	value	a key that has one is not chosen, unless lh_destroy() names it.
 *		Only the holder of the key sets it, and FREE(v) says that the
 *		key was not held since that was checked
 *
 * A slot is linked only after its word is FREE, so a fresh FREE slot that is
 * not in the list (EV0) still belongs to its maker.
 *
 * A crash or stop after EV1 or EV4: the key is not available until a process
 * finds it; after EV6 nothing.  The count of freed slots may miss one then.
 */
#include <errno.h>
#include "base/clock.h"
#include "shm/damaged.h"
#include "shm/events.h"
#include "shm/evict.h"
#include "shm/key_index.h"
#include "shm/consistency.h"
#include "shm/key_token.h"
#include "shm/lock_word.h"
#include "shm/session_named.h"
#include "shm/wait_queue.h"
#include "shm/cluster_right.h"
#include "shm/key_slot.h"
#include "shm/counters.h"
#include "shm/value_record.h"

#define PASSES_MAX 1000

uint32_t
lhi_idle_ms(struct shm_slot *s, uint64_t w, uint32_t first, int64_t now_ns)
{
	uint32_t now_ms = (uint32_t)(now_ns / NS_PER_MS);
	uint64_t who = (word_ver(w) & MASK(IDLE_VER_BITS)) <<
	    (IDLE_CLAIM_BITS + 1) |
	    (uint64_t)(word_mode(w) == WORD_FREE) << IDLE_CLAIM_BITS | first;
	uint64_t idle = sh64_load(&s->idle);

	/* another process's clock reading may be newer */
	if (idle >> IDLE_MS_BITS == who)
		return (int32_t)(now_ms - (uint32_t)idle) > 0 ?
		    now_ms - (uint32_t)idle : 0;
	(void)sh64_cas(&s->idle, idle, who << IDLE_MS_BITS | now_ms);
	return 0;
}

static bool
is_kept(const struct shm_slot *s)
{
	return (sh32_load_sc(&s->key_info) & KEY_KEPT) ||
	    lhi_consistency_noted(s);
}

/* True (1) if there is a waiter. Returns 1, 0, -EUCLEAN. */
static int
has_waiter(struct lhi_view *v, struct shm_slot *s)
{
	uint32_t first;
	int error = 0;

	/* pairs with: the waiter queues, then looks at the word */
	if (link_idx(sh64_load_sc(&s->waitq)) == 0)
		return 0;
	/* it may be a claim of an earlier life, or dead */
	error = lhi_queue_first(v, s, 0, false, true, &first);
	return error != 0 ? error : link_idx(sh64_load_sc(&s->waitq)) != 0;
}

/* Does EV2 to EV4, the word being w, DYING. Returns 1: it is a key again; 0;
 * -EUCLEAN. */
static int
commit_eviction(struct lhi_view *v, struct shm_slot *s, uint64_t w)
{
	uint64_t hash = sh64_load(&s->hash);
	uint64_t token = lhi_lock_token(s, w);
	uint32_t info = sh32_load_sc(&s->key_info);
	bool cluster = info & KEY_CLUSTER;
	int back = lhi_mutant_on(evict_unchecked) ? 0 : has_waiter(v, s);

	if (back == 0 && is_kept(s))
		back = 1;
	if (sh64_load_sc(&s->word) != w || back < 0)
		return back < 0 ? back : 0;
	if (back) {
		if (!sh64_cas(&s->word, w, lhi_free_word(s,
		    CAUSE_RELEASED, word_ver(w))))
			return 0;
		lhi_point("evict.back");
		lhi_queue_wake_first(v, s);
		return 1;
	}
	if (info & KEY_LOCAL)
		(void)sh64_fetch_or(&v->hdr->local_shards,
		    UINT64_C(1) << hash % SHM_SHARDS);		/* EV3 */
	back = cluster ? 0 : lhi_slot_cover(v, token);
	if (back < 0)
		return back;
	lhi_point("evict.local");
	if (!sh64_max(cluster ? &v->hdr->cluster_floor :
	    &v->hdr->floor[hash % SHM_SHARDS], token))
		return lhi_damaged_restless(v, "a token floor",
		    hash % SHM_SHARDS);
	lhi_point("evict.floor");
	if (sh64_cas(&s->word, w, word_make(WORD_NONE, NONE_COMMITTED,
	    word_ver(w)))) {					/* EV4 */
		lhi_counters_add(v, STAT_EVICTIONS, 1);
		lhi_event_key(v, LH_LOG_EVICTED, s, token);
	}
	return 0;
}

/* Does EV5 and EV6, the word being w, COMMITTED. */
static int
take_out_key(struct lhi_view *v, struct shm_slot *s, uint64_t w)
{
	uint64_t hash = sh64_load(&s->hash), l;
	uint32_t n = 0;
	int linked;

	lhi_point("evict.committed");
	do {
		l = sh64_load(&s->next);
		if (!lhi_mutant_on(evict_unchecked) && sh64_load(&s->word) != w)
			return 0;
		lhi_point("evict.marking");
	} while (!slink_marked(l) && !sh64_cas(&s->next, l,
	    slink_after(l, slink_idx(l)) | SLINK_MARK) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX));
	if (LHI_REACHED(n, LHI_SWAPS_MAX))
		return lhi_damaged_restless(v, "the link of a key",
		    lhi_slot_idx(v, s));
	lhi_point("evict.marked");
	linked = lhi_index_linked(v, s, hash);
	if (linked != 0)
		return linked < 0 ? linked : 0;
	if (sh64_cas(&s->word, w, word_make(WORD_NONE, NONE_UNUSED,
	    word_ver(w) + 1)))
		(void)sh32_fetch_add(&v->hdr->slot_freed, 1);	/* EV6 */
	return 0;
}

int
lhi_evict_finish(struct lhi_view *v, struct shm_slot *s)
{
	for (int pass = 0; pass < PASSES_MAX; pass++) {
		uint64_t w = sh64_load_sc(&s->word);
		int result;

		if (word_mode(w) != WORD_NONE ||
		    lhi_mutant_on(eviction_unfinished))
			return 0;
		if (word_idx(w) == NONE_DYING)
			result = commit_eviction(v, s, w);
		else if (word_idx(w) == NONE_COMMITTED)
			result = take_out_key(v, s, w);
		else
			return 0;
		if (result != 0)
			return result;
	}
	return lhi_damaged(v, "a key cannot be taken out", lhi_slot_idx(v, s),
	    sh64_load(&s->word));
}

int
lhi_evict_revoke(struct lhi_view *v, struct shm_slot *s, uint64_t *w)
{
	*w = sh64_load(&s->word);
	return word_mode(*w) != WORD_S && word_mode(*w) != WORD_X ? 0 :
	    lhi_lock_settle(v, s, lhi_now_ns(v), SETTLE_READERS, w);
}

int
lhi_evict_slot(struct lhi_view *v, struct shm_slot *s, uint64_t w)
{
	int is;

	if (word_mode(w) != WORD_FREE || is_kept(s) || lhi_right_now(v, s) ||
	    lhi_named_delayed(v, s, w) != 0)			/* EV0 */
		return 0;
	is = has_waiter(v, s);
	if (is != 0)
		return is < 0 ? is : 0;
	is = lhi_index_linked(v, s, sh64_load(&s->hash));
	if (is != 1)
		return is;
	lhi_point("evict.chosen");
	if (!sh64_cas(&s->word, w, word_make(WORD_NONE, NONE_DYING,
	    word_ver(w) + 1)))					/* EV1 */
		return 0;
	lhi_point("evict.dying");
	is = lhi_evict_finish(v, s);
	return is < 0 ? is : !is;
}

int
lhi_evict_idle(struct lhi_view *v, uint32_t idx, int64_t now_ns, bool spare)
{
	struct shm_slot *s = lhi_slot(v, idx);
	uint64_t w;
	int error;

	if (s == NULL)
		return 0;
	error = lhi_evict_finish(v, s);
	if (error < 0)
		return error;
	error = lhi_evict_revoke(v, s, &w);
	if (error != 0)
		return error;
	if (word_mode(w) == WORD_NONE)
		return word_idx(w) == NONE_UNUSED;
	if (word_mode(w) != WORD_FREE || is_kept(s) || lhi_slot_valued(s) ||
	    (spare && lhi_idle_ms(s, w, 0, now_ns) == 0))
		return 0;
	return lhi_evict_slot(v, s, w);
}
