/* SPDX-License-Identifier: MIT */
/*
 * Slots: answers "where is there room for a new key?", and makes one.
 *
 * Slots are type-stable: never unmapped, never anything else than slots.  A
 * lookup therefore takes no lock and no reference; it validates as it goes
 * (key_index.c, key_bytes.c), and what finally proves that the slot is still
 * the key is the swap of its lock word, whose version changes when a slot
 * changes lives.
 *
 * Invariants.
 *  I1	hash, key and gen of a linked slot are constant; they are complete
 *	before the word becomes FREE, and the slot is linked only after that
 *	(C15).
 *  I2	A slot is linked by a swap that proves that the key was not there.
 *  I3	Whoever reserves a slot has announced it in an INSERT claim first.
 *  I4	slot.maker and slot.gen name the claim that made this life of the slot;
 *	they are stored only while the word is RESERVED by that claim.
 *
 * Making a key; what a crash (K) leaves, completed by whoever buries the
 * maker's claim; a stop costs one slot while it lasts, and delays nobody:
 *	1 claim: INSERT, slot	K: nothing to undo
 *	2 word: UNUSED -> RESERVED(claim)	K: -> UNUSED
 *	3 gen, then the rest	K: -> UNUSED
 *	4 the place in the list is found; then the floor is read;
 *	  hint, then word: RESERVED -> FREE(low bits of hint) (C7)
 *				K: not linked and made by this claim: -> UNUSED
 *	5 linked at that place, or 4 again	K: the key is there, and may be
 *	  evicted, and the slot another's: nothing of it is read any more, but
 *	  for the log
 *	6 claim: FREE
 *
 * Tokens.  A key begins above the floor of its hash's shard, where it may have
 * been before, and above all that the slot has had, so that the word's version
 * never goes back.  The floor is read after the place was found: the same key
 * may have been made by others, used, and evicted, since this was begun, but
 * not since its place was found empty, or linking there fails.  So is the
 * shard's bit that says whether a key there was granted in scope local; if one
 * was, all of that shard's are treated so from then on.  In a table with a
 * fence file a key begins in the latest range of tokens, if others have got
 * there.
 *
 * Hint and version go up together, in steps of at most 2^38, so that whoever
 * finds the maker dead between the two can still tell by how much they differ;
 * but first the hint alone, by a multiple of 2^40, which does not show in the
 * version: one store moves the token so far.
 *
 * Made, evicted and made again, a slot's tokens rise without a grant.  The
 * ceiling goes before them all the same: beyond it they would be taken for
 * those of the other kind, and the word go down.
 *
 * Two kinds.  Tokens of cluster keys are above 2^62 and all others below, so a
 * slot that was of the other kind in its last life begins anew:
 *	up	where its tokens had got is written down in its right (`was`);
 *		then the hint is stored, then the word
 *	down	to the floor, or to `was` if that is above; the word, then the
 *		hint, then the word is FREE
 * in which nobody reads the word for a token, while it is RESERVED.  So the
 * words of all lives of one kind have versions that only rise (lock_word.c,
 * I1): who remembers a word of an earlier one, above all a thread's claim
 * cache, never sees it again.  Nor in lives of the other kind, though versions
 * there are any numbers: a FREE word of a cluster key has a bit of its own.  Of
 * a maker that dies in between there is left a slot whose tokens are where no
 * key's are: the next one goes the same way.  (`was` is raised only to a token
 * that one can have had.)
 *
 * Room is looked for
 *	1 if some were freed: in 64 places
 *	2 among those that were never used
 *	3 by growing (backing_grow.c)
 *	4 everywhere, completing evictions, evicting keys that are idle: at
 *	  first only those that nobody used since the hand came by the last
 *	  time, and after 1,024 that were, any
 * Where to begin and how many were freed are hints: any value is safe.
 */
#include <errno.h>
#include "base/clock.h"
#include "base/error.h"
#include "shm/claim_record.h"
#include "shm/damaged.h"
#include "shm/events.h"
#include "shm/evict.h"
#include "shm/backing_grow.h"
#include "shm/key_index.h"
#include "shm/lock_word.h"
#include "shm/cluster_right.h"
#include "shm/key_slot.h"
#include "shm/session_reclaim.h"
#include "shm/value_record.h"

#define LOOKS 64
#define STEP (UINT64_C(1) << 38)
#define TURN (UINT64_C(1) << VER_BITS)

int
lhi_slot_find(struct lhi_view *v, const struct lhi_key_name *n,
    struct lhi_ref *ref)
{
	return lhi_index_find(v, n, ref);
}

bool
lhi_slot_flag(const struct lhi_ref *ref, uint32_t flag)
{
	struct shm_slot *s = ref->slot;
	uint32_t gen = (uint32_t)(ref->slot_ref >> 32), info;

	do {
		info = sh32_load(&s->key_info);
		if ((info ^ KEY_LIFE(gen)) & ~KEY_SAID)
			return false;
	} while (!sh32_cas(&s->key_info, info, info | flag));
	/* pairs with: the evictor swaps the word, then looks at the flag */
	return word_mode(sh64_load_sc(&s->word)) != WORD_NONE &&
	    sh32_load(&s->gen) == gen;
}

bool
lhi_slot_unkeep(const struct lhi_ref *ref)
{
	uint32_t gen = (uint32_t)(ref->slot_ref >> 32), info;

	do {
		info = sh32_load(&ref->slot->key_info);
		if (!(info & KEY_KEPT) || ((info ^ KEY_LIFE(gen)) &
		    ~KEY_SAID))
			return false;
	} while (!sh32_cas(&ref->slot->key_info, info, info & ~KEY_KEPT));
	return true;
}

/* Steps 1 and 2: announce and reserve slot idx, if it is unused. */
static struct shm_slot *
reserve(struct lhi_view *v, uint32_t ci, uint32_t idx)
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
take_freed(struct lhi_view *v, uint32_t ci)
{
	struct shm_header *h = v->hdr;
	uint32_t n = lhi_slots_ready(v);
	uint32_t freed = sh32_load_rlx(&h->slot_freed);
	uint32_t from = sh32_load_rlx(&h->slot_hand) % n;

	for (uint32_t i = 0; freed > 0 && i < LOOKS; i++) {
		struct shm_slot *s = reserve(v, ci, (from + i) % n);

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

/* The first of from .. to that can be had. */
static struct shm_slot *
take_next(struct lhi_view *v, uint32_t ci, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		struct shm_slot *s = reserve(v, ci, i);

		if (s != NULL) {
			sh32_store_rlx(&v->hdr->slot_next, i + 1);
			return s;
		}
	}
	return NULL;
}

static int
take_any(struct lhi_view *v, uint32_t ci, struct shm_slot **s)
{
	uint32_t n = lhi_slots_ready(v);
	uint32_t from = sh32_load_rlx(&v->hdr->slot_hand) % n;
	uint32_t spares = n < LHI_SPARES ? n : LHI_SPARES;
	int64_t now_ns = lhi_now_ns(v);

	(void)lhi_session_reclaim_dead(v); /* what the dead hold is no hindrance
	    */
	for (uint32_t i = 0; i < n + spares; i++) {
		uint32_t idx = (from + i) % n;
		int gone = lhi_evict_idle(v, idx, now_ns, i < spares);

		if (gone < 0)
			return gone;
		*s = gone ? reserve(v, ci, idx) : NULL;
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
find_room(struct lhi_view *v, uint32_t ci, struct shm_slot **s)
{
	int grown = 1, error;

	*s = take_freed(v, ci);
	if (*s == NULL)
		*s = take_next(v, ci, sh32_load_rlx(&v->hdr->slot_next),
		    lhi_slots_ready(v));
	while (*s == NULL && grown == 1) {
		uint32_t from = lhi_slots_ready(v);

		grown = lhi_grow_slots(v);
		if (grown == 1)
			*s = take_next(v, ci, from, lhi_slots_ready(v));
	}
	if (*s != NULL)
		return 0;
	error = take_any(v, ci, s);
	if (error != -ENOSPC)
		return error;
	if (grown < 0 && grown != -ENOSPC)
		return grown;
	return lhi_fail(-ENOSPC, "there is no room for another key: all %u "
	    "are held, waited for, kept (lh_key_create()) or have a value; %s",
	    lhi_slots_ready(v) - 1, grown < 0 ? "and there is no memory for "
	    "more: make room in /dev/shm, or enlarge it" :
	    "use a table with more keys");
}

/* Is that no token that an ordinary key can have had? */
static bool
beyond(const struct lhi_view *v, uint64_t token)
{
	return token >= sh64_load(&v->hdr->ceiling) + lhi_range_width();
}

void
lhi_slot_cover(struct lhi_view *v, uint64_t token)
{
	uint64_t ceiling, mask = lhi_range_width() - 1;

	if (lhi_mutant_on(uncovered))
		return;
	while (token >= (ceiling = sh64_load(&v->hdr->ceiling)) &&
	    !beyond(v, token) && token < (uint64_t)TOKEN_MAX - mask) {
		/* in this order: shm/table_remove.c, I1 */
		if (lhi_view_retired(v))
			return;
		lhi_point("slot.covering");
		(void)sh64_cas(&v->hdr->ceiling, ceiling, (token | mask) + 1);
	}
}

/* Swap the slot's word, while it is this claim's making, to UNUSED. */
static int
undo(struct lhi_view *v, struct shm_slot *s, uint32_t ci)
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
	lhi_slot_cover(v, lhi_lock_token(s, w));
	if (sh64_cas(&s->word, w,
	    word_make(WORD_NONE, NONE_UNUSED, word_ver(w) + 1)))
		(void)sh32_fetch_add(&v->hdr->slot_freed, 1);
	return 0;
}

static int
changed_hands(struct lhi_view *v, struct shm_slot *s, uint64_t w)
{
	return lhi_damaged(v, "a slot that is being made changed hands",
	    lhi_slot_idx(v, s), w);
}

static bool
swap(struct shm_slot *s, uint64_t *w, uint64_t to)
{
	if (!sh64_cas(&s->word, *w, to))
		return false;
	*w = to;
	return true;
}

/* Up, to a cluster key's tokens: see "Two kinds". */
static int
go_up(struct lhi_view *v, struct shm_slot *s, uint64_t w, uint64_t token)
{
	sh64_store(&s->hint, token);
	lhi_point("slot.hinted");
	return swap(s, &w, lhi_free_word(s, CAUSE_RELEASED, token)) ? 0 :
	    changed_hands(v, s, w);
}

/* Down again: to the floor, but not to where the slot has been. */
static int
go_down(struct lhi_view *v, struct shm_slot *s, uint64_t w, uint64_t floor)
{
	uint64_t was = sh64_load(&v->rights[lhi_slot_idx(v, s)].was), to;

	if (was >= sh64_load(&v->hdr->ceiling) + lhi_range_width())
		return lhi_damaged(v, "a slot's tokens had got too far",
		    lhi_slot_idx(v, s), was);
	to = was > floor ? was : floor;
	if (lhi_durable(v) && was != 0 &&
	    lhi_range_land(was + 1, floor + 1) > to)
		to = lhi_range_land(was + 1, floor + 1);
	if (!swap(s, &w, word_make(word_mode(w), word_idx(w), to)))
		return changed_hands(v, s, w);
	lhi_point("slot.lowered");
	sh64_store(&s->hint, to);
	lhi_point("slot.hinted");
	return swap(s, &w, word_make(WORD_FREE, CAUSE_RELEASED, to)) ? 0 :
	    changed_hands(v, s, w);
}

/* Of a cluster key, the word being w: its last token is said to be that. */
static int
publish_cluster(struct lhi_view *v, struct shm_slot *s, uint64_t w,
    uint64_t token)
{
	uint64_t floor = sh64_load(&v->hdr->cluster_floor);

	if (floor != 0 && (floor < CLUSTER_FIRST || floor > TOKEN_MAX - TURN))
		return lhi_damaged(v, "the floor of cluster keys' tokens is "
		    "none", 0, floor);
	if (floor == 0)
		floor = CLUSTER_FIRST;
	if (!beyond(v, token))
		sh64_max(&v->rights[lhi_slot_idx(v, s)].was, token);
	lhi_point("slot.was");
	if (token < floor || token - floor >= MASK(CLUSTER_SEQ_BITS))
		return go_up(v, s, w, lhi_right_land(token + 1, floor));
	return word_mode(w) == WORD_FREE || swap(s, &w,
	    lhi_free_word(s, CAUSE_RELEASED, token)) ? 0 :
	    changed_hands(v, s, w);
}

int
lhi_slot_publish(struct lhi_view *v, struct shm_slot *s)
{
	uint64_t hash = sh64_load(&s->hash), w = sh64_load(&s->word);
	uint64_t floor = lhi_mutant_on(floor_ignored) ? 0 :
	    sh64_load(&v->hdr->floor[hash % SHM_SHARDS]);
	uint64_t first = lhi_range_first(sh64_load(&v->hdr->durable_ceiling));
	uint64_t hint = sh64_load(&s->hint), token = token_of(hint,
	    word_ver(w)), land;

	/* nobody else finds it before it is linked */
	if (word_mode(w) != WORD_FREE && !lhi_mutant_on(found_unlinked) &&
	    (word_mode(w) != WORD_NONE || word_idx(w) != sh32_load(&s->maker)))
		return changed_hands(v, s, w);
	if (lhi_right_has(s))
		return publish_cluster(v, s, w, token);

	/* in the latest range at once, where others are already */
	if (lhi_durable(v) && floor < first &&
	    first < sh64_load(&v->hdr->ceiling))
		floor = first;
	/* not where the slot's version has been: op/token_next.c, "Jumps" */
	if (lhi_durable(v) && token != 0 && floor > token &&
	    (land = lhi_range_land(token + 1, floor + 1)) > floor)
		floor = land;

	if (sh64_load(&v->hdr->local_shards) >> hash % SHM_SHARDS & 1)
		(void)sh32_fetch_or(&s->key_info, KEY_LOCAL);
	if (floor > TOKEN_MAX)
		return lhi_damaged(v, "a token floor is none",
		    hash % SHM_SHARDS, floor);
	if (beyond(v, token))
		return go_down(v, s, w, floor);
	lhi_slot_cover(v, token > floor ? token : floor);
	if (token < floor && floor - token >= TURN)
		sh64_store(&s->hint, hint + ((floor - token) & ~(TURN - 1)));
	lhi_point("slot.turned");
	for (;;) {
		uint64_t to, next;

		token = to = lhi_lock_token(s, w);
		if (token < floor)
			to = floor - token > STEP ? token + STEP : floor;
		if (word_mode(w) == WORD_FREE && to == token)
			return 0;
		sh64_max(&s->hint, to);
		lhi_point("slot.hinted");
		next = to < floor ? word_make(word_mode(w), word_idx(w), to) :
		    word_make(WORD_FREE, CAUSE_RELEASED, to);
		if (!sh64_cas(&s->word, w, next))
			return changed_hands(v, s, w);
		w = next;
	}
}

/* Step 3. */
static int
fill(struct lhi_view *v, struct shm_slot *s, const struct lhi_key_name *n,
    uint32_t ci)
{
	int error;

	/* before the key: who reads that reads this first and last */
	(void)sh32_xchg(&s->gen,
	    (uint32_t)(sh64_load_rlx(&v->claims[ci].slot_ref) >> 32));
	sh32_store(&s->maker, ci);
	lhi_value_forget(s);
	error = lhi_key_write(v, s, n);
	lhi_point("slot.filled");
	return error;
}

static void
tell_made(struct lhi_view *v, const struct shm_slot *s)
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
	error = find_room(v, ci, &s);
	if (error == 0) {
		error = fill(v, s, n, ci);
		if (error == 0)	/* 4, 5 */
			error = lhi_index_insert(v, s, n, ref);
		if (error != 0)
			(void)undo(v, s, ci);
		else
			tell_made(v, s);
	}
	lhi_point("slot.made");
	sh64_store(&c->state, state_make(ST_FREE, seq, 0));
	return error == 1 ? 0 : error;	/* 1: somebody else made it meanwhile */
}

int
lhi_slot_settle_insert(struct lhi_view *v, uint32_t ci)
{
	struct shm_slot *s = lhi_slot(v, lhi_claim_slot(&v->claims[ci]));

	if (s == NULL)
		return 0;
	lhi_counters_add(v, STAT_COMPLETIONS, 1);
	return undo(v, s, ci);
}
