/* SPDX-License-Identifier: MIT */
/*
 * Tokens of slots: the first token of a key when a slot is given to it
 * (key_make.c).
 *
 * Tokens.  A key begins above the floor of its hash's shard, where it may have
 * been before, and above all tokens that the slot has had, so that the word's
 * version never goes back.  The floor is read after the place was found.  The
 * same key may have been made by others, used, and evicted, since this began,
 * but not since its place was found empty, or linking there fails.  The same
 * holds for the shard's bit that says whether a key there was granted in scope
 * local; if one was, all of that shard's are treated so from then on.  In a
 * table with a fence file a key begins in the latest range of tokens, if others
 * have got there.
 *
 * Hint and version go up together, in steps of at most 2^38, so that a process
 * that finds the maker dead between the two can still compute their difference.
 * Before that the hint alone goes up, by a multiple of 2^40, which does not
 * show in the version: one store moves the token so far.
 *
 * If a slot is made, evicted and made again, its tokens rise without a grant.
 * The ceiling goes before them all the same: beyond it they would be taken for
 * those of the other kind, and the word would go down.
 *
 * Two kinds.  Tokens of cluster keys are above 2^62 and all others below, so a
 * slot that was of the other kind in its last life begins anew:
 *	up	the end of its ordinary tokens is stored in its right (`was`);
 *		then the hint is stored, then the word
 *	down	to the floor, or to `was` if that is above; the word, then the
 *		hint, then the word is FREE
 * Meanwhile no process reads the word for a token, because it is RESERVED. So
 * the words of all lives of one kind have versions that only rise (lock_word.c,
 * I1). A process that remembers a word of an earlier one, above all a thread's
 * claim cache, never sees it again.  Nor does it in lives of the other kind,
 * although versions there are any numbers: a FREE word of a cluster key has a
 * bit of its own.  A maker that dies in between leaves a slot whose tokens are
 * where no key's are: the next one goes the same way.  (`was` is raised only to
 * a possible token.)
 *
 * A crash in between leaves a slot that is not linked: reclaiming the maker's
 * claim makes it UNUSED again (key_slot.c).
 */
#include <errno.h>
#include "shm/cluster_right.h"
#include "shm/damaged.h"
#include "shm/key_token.h"
#include "shm/lock_word.h"

#define STEP (UINT64_C(1) << 38)
#define TURN (UINT64_C(1) << VER_BITS)
#define STEPS_MAX (TURN / STEP + 4)	/* less than a turn, and FREE */

/* True if no ordinary key can have had that token. */
static bool
is_beyond_ceiling(const struct lhi_view *v, uint64_t token)
{
	return token >= sh64_load(&v->hdr->ceiling) + lhi_range_width();
}

int
lhi_slot_cover(struct lhi_view *v, uint64_t token)
{
	uint64_t ceiling, mask = lhi_range_width() - 1;
	uint32_t n = 0;

	if (lhi_mutant_on(uncovered))
		return 0;
	while (token >= (ceiling = sh64_load(&v->hdr->ceiling)) &&
	       !is_beyond_ceiling(v, token) &&
	       token < (uint64_t)TOKEN_MAX - mask) {
		if (!LHI_WITHIN(n, LHI_SWAPS_MAX))
			return lhi_damaged_restless(v, "the ceiling", 0);
		/* in this order: shm/table_remove.c, I1 */
		if (lhi_view_retired(v))
			return 0;
		lhi_point("slot.covering");
		(void)sh64_cas(&v->hdr->ceiling, ceiling, (token | mask) + 1);
	}
	return 0;
}

static int
report_changed_hands(struct lhi_view *v, struct shm_slot *s, uint64_t w)
{
	return lhi_damaged(v, "a slot that is being made changed hands",
	    lhi_slot_idx(v, s), w);
}

static bool
swap_word(struct shm_slot *s, uint64_t *w, uint64_t to)
{
	if (!sh64_cas(&s->word, *w, to))
		return false;
	*w = to;
	return true;
}

/* Up, to a cluster key's tokens: see "Two kinds". */
static int
raise_to_cluster(struct lhi_view *v, struct shm_slot *s, uint64_t w,
    uint64_t token)
{
	sh64_store(&s->hint, token);
	lhi_point("slot.hinted");
	return swap_word(s, &w, lhi_free_word(s, CAUSE_RELEASED, token)) ? 0 :
	    report_changed_hands(v, s, w);
}

/* Goes down again: to the floor, but not to where the slot has been. */
static int
lower_to_floor(struct lhi_view *v, struct shm_slot *s, uint64_t w,
    uint64_t floor)
{
	uint64_t was = sh64_load(&v->rights[lhi_slot_idx(v, s)].was), to;

	if (was >= sh64_load(&v->hdr->ceiling) + lhi_range_width())
		return lhi_damaged(v, "a slot's tokens had got too far",
		    lhi_slot_idx(v, s), was);
	to = was > floor ? was : floor;
	if (lhi_durable(v) && was != 0 &&
	    lhi_range_land(was + 1, floor + 1) > to)
		to = lhi_range_land(was + 1, floor + 1);
	if (!swap_word(s, &w, word_make(word_mode(w), word_idx(w), to)))
		return report_changed_hands(v, s, w);
	lhi_point("slot.lowered");
	sh64_store(&s->hint, to);
	lhi_point("slot.hinted");
	return swap_word(s, &w, word_make(WORD_FREE, CAUSE_RELEASED, to)) ? 0 :
	    report_changed_hands(v, s, w);
}

/* For a cluster key with the word w: its last token is said to be that. */
static int
publish_cluster_key(struct lhi_view *v, struct shm_slot *s, uint64_t w,
    uint64_t token)
{
	uint64_t floor = sh64_load(&v->hdr->cluster_floor);

	if (floor != 0 && (floor < CLUSTER_FIRST || floor > TOKEN_MAX - TURN))
		return lhi_damaged(v, "the floor of cluster keys' tokens is "
		    "none", 0, floor);
	if (floor == 0)
		floor = CLUSTER_FIRST;
	if (!is_beyond_ceiling(v, token) &&
	    !sh64_max(&v->rights[lhi_slot_idx(v, s)].was, token))
		return lhi_damaged_restless(v, "the tokens of a slot",
		    lhi_slot_idx(v, s));
	lhi_point("slot.was");
	if (token < floor || token - floor >= MASK(CLUSTER_SEQ_BITS))
		return raise_to_cluster(v, s, w,
		    lhi_right_land(token + 1, floor));
	return word_mode(w) == WORD_FREE || swap_word(s, &w,
	    lhi_free_word(s, CAUSE_RELEASED, token)) ? 0 :
	    report_changed_hands(v, s, w);
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
	uint32_t n = 0;
	int error;

	/* no other process finds it before it is linked */
	if (word_mode(w) != WORD_FREE && !lhi_mutant_on(found_unlinked) &&
	    (word_mode(w) != WORD_NONE || word_idx(w) != sh32_load(&s->maker)))
		return report_changed_hands(v, s, w);
	if (lhi_right_has(s))
		return publish_cluster_key(v, s, w, token);

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
	if (is_beyond_ceiling(v, token))
		return lower_to_floor(v, s, w, floor);
	error = lhi_slot_cover(v, token > floor ? token : floor);
	if (error != 0)
		return error;
	if (token < floor && floor - token >= TURN)
		sh64_store(&s->hint, hint + ((floor - token) & ~(TURN - 1)));
	lhi_point("slot.turned");
	while (LHI_WITHIN(n, STEPS_MAX)) {
		uint64_t to, next;

		token = to = lhi_lock_token(s, w);
		if (token < floor)
			to = floor - token > STEP ? token + STEP : floor;
		if (word_mode(w) == WORD_FREE && to == token)
			return 0;
		(void)sh64_max(&s->hint, to);
		lhi_point("slot.hinted");
		next = to < floor ? word_make(word_mode(w), word_idx(w), to) :
		    word_make(WORD_FREE, CAUSE_RELEASED, to);
		if (!sh64_cas(&s->word, w, next))
			return report_changed_hands(v, s, w);
		w = next;
	}
	return report_changed_hands(v, s, w);
}
