/* SPDX-License-Identifier: MIT */
/*
 * lh_destroy(): see key.h.  An eviction (shm/evict.c) by name, which reports
 * why it fails.  KEY_KEPT is cleared first, because it would prevent the
 * eviction.  A process killed after that leaves a key that may be evicted, as
 * it wanted.  A key that is in use gets the flag back.
 */
#include <errno.h>
#include <stddef.h>
#include <leasehold.h>
#include "base/error.h"
#include "op/busy_detail.h"
#include "proc/attachment.h"
#include "shm/consistency.h"
#include "shm/damaged.h"
#include "shm/readers.h"
#include "shm/evict.h"
#include "shm/lock_word.h"
#include "shm/session_named.h"

#define TRIES 1000		/* each time the key was used in between */

struct search {
	uint64_t sid;
	bool found;
};

static bool
is_mine(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct search *s = arg;

	s->found = lhi_claim_owner(v, ci) == s->sid &&
	    state_held(sh64_load(&v->claims[ci].state));
	return !s->found;
}

/* Of a held key with the word w: by this attachment, or by others? */
static int
fail_held(struct lh *lh, struct shm_slot *s, uint64_t w)
{
	struct search mine = { lh->sid, false };

	if (word_mode(w) == WORD_S)
		(void)lhi_readers_walk(&lh->v, s, is_mine, &mine);
	else
		(void)is_mine(&lh->v, word_idx(w), &mine);
	return lhi_busy_detail_fail(&lh->v, s, w, mine.found ? -EALREADY :
	    -EBUSY);
}

static int
fail_noted(const char *key)
{
	return lhi_fail(-ENOTRECOVERABLE, "a holder of key '%.64s' did not "
	    "release it, and what it guards may be inconsistent: removing the "
	    "key would drop that note; repair it and mark it consistent first",
	    key);
}

/* Returns 1: it is gone; 0: try again; -EALREADY, -EBUSY, -EUCLEAN;
 * -ENOTRECOVERABLE: it has a note, and with_note is false. */
static int
try_destroy(struct lh *lh, const struct lhi_ref *ref, const char *key,
    bool with_note)
{
	struct lhi_view *v = &lh->v;
	struct shm_slot *s = ref->slot;
	bool was_kept;
	uint32_t note;
	uint64_t w;
	int gone = lhi_lock_settle(v, s, lhi_now_ns(v),
	    SETTLE_PROBE | SETTLE_READERS, &w);

	if (gone != 0)
		return gone;
	if (sh32_load(&s->gen) != ref->slot_ref >> 32)
		return 0;
	if (word_mode(w) == WORD_NONE) {
		gone = lhi_evict_finish(v, s);
		return gone < 0 ? gone : 0;
	}
	if (word_mode(w) != WORD_FREE)
		return fail_held(lh, s, w);
	/* a new one of that name would be granted before the delay is over */
	if (lhi_named_delayed(v, s, w) != 0)
		return lhi_busy_detail_fail(v, s, w, -EBUSY);
	/* a later note is kept, too: lhi_evict_slot() evicts no noted key */
	if (!with_note && lhi_consistency_lost(s, w))
		return fail_noted(key);
	was_kept = lhi_slot_unkeep(&lh->v, ref);
	if (lhi_mutant_on(keeps_by_itself))
		was_kept = sh32_load(&s->key_info) & KEY_KEPT;
	/* a caller that destroys a key also drops its note */
	note = sh32_load(&s->consistency);
	if (with_note)
		(void)sh32_cas(&s->consistency, note, 0);
	lhi_point("destroy.unkept");
	gone = lhi_evict_slot(v, s, w);
	if (gone == 0 && with_note)
		(void)sh32_cas(&s->consistency, 0, note);
	if (gone == 0 && was_kept)
		(void)lhi_slot_flag(&lh->v, ref, KEY_KEPT);
	if (gone == 0 && sh64_load_sc(&s->word) == w &&
	    link_idx(sh64_load_sc(&s->waitq)) != 0)
		return lhi_busy_detail_fail(v, s, w, -EBUSY);
	return gone;
}

static int
destroy_key(struct lh *lh, const char *key, bool with_note)
{
	struct lhi_key_name n;
	struct lhi_ref ref;
	int error = lhi_own(lh);

	if (error == 0)
		error = lhi_name_set(&n, key);
	if (error != 0)
		return error;
	for (int i = 0; error == 0 && i < TRIES; i++) {
		int found = lhi_slot_find(&lh->v, &n, &ref);

		if (found <= 0)
			return found;
		error = try_destroy(lh, &ref, key, with_note);
	}
	if (error == 0)
		error = lhi_fail(-EBUSY, "key '%.64s' was in use at each "
		    "attempt; try again", key);
	return lhi_damaged_or(&lh->v, error < 0 ? error : 0);
}

int
lh_destroy(struct lh *lh, const char *key)
{
	return destroy_key(lh, key, true);
}

int
lh_destroy_consistent(struct lh *lh, const char *key)
{
	return destroy_key(lh, key, false);
}
