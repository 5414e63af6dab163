/* SPDX-License-Identifier: MIT */
/* lh_list() and lh_status(). See inspect.h, and inspect/snapshot.c. */
#include <errno.h>
#include <string.h>
#include <leasehold.h>
#include "base/error.h"
#include "inspect/snapshot.h"
#include "op/cluster_holders.h"
#include "proc/claim_cache.h"
#include "shm/damaged.h"
#include "shm/readers.h"

#define LOOKS 100		/* reads of a lease that moves */

/* True if that lease is among the holders, with its claim's state st.  One of
 * many readers is looked up by itself. */
static bool
holds_as(const struct lhi_snapshot *sn, const uint64_t id[2], uint64_t st)
{
	struct lhi_view *v = &sn->lh->v;
	uint32_t ci = lid_claim(id[1]);
	struct shm_claim *c = &v->claims[ci];
	uint64_t w = sh64_load(&sn->slot->word);

	return state_held(st) && lhi_claim_cache_id(v, ci) == id[1] &&
	    sh64_load(&c->slot_ref) == lhi_slot_ref(lhi_slot_idx(v, sn->slot),
	    sh32_load(&sn->slot->gen)) &&
	    lhi_now_ns(v) < lhi_deadline_ns(v, state_deadline(st)) &&
	    ((word_mode(w) == WORD_S &&
	    lhi_readers_has(v, sn->slot, ci) == 1) ||
	    (word_mode(w) == WORD_X && word_idx(w) == ci));
}

static bool
is_held_by(const struct lhi_snapshot *sn, const uint64_t id[2])
{
	struct shm_claim *c = lhi_claim(&sn->lh->v, lid_claim(id[1]));
	bool held;
	uint64_t st;

	if (c == NULL || lhi_claim_owner(&sn->lh->v, lid_claim(id[1])) !=
	    lhi_view_session_of(&sn->lh->v, id[0]))
		return false;
	if (sn->info.cluster == LH_CLUSTER_NONE && !sn->lh->serves)
		return false;
	for (int i = 0; i < LOOKS; i++) {
		st = sh64_load(&c->state);
		held = holds_as(sn, id, st);
		if (sh64_load(&c->state) == st)
			return held;	/* otherwise it may have been
					 * extended */
	}
	return false;
}

int
lh_list(struct lh *lh, const char *prefix, lh_key_fn fn, void *arg)
{
	struct lhi_snapshot sn = { .lh = lh };
	size_t len = prefix == NULL ? 0 : strlen(prefix);
	int error = lhi_own_to_look(lh);

	if (error == 0 && fn == NULL)
		error = lhi_fail(-EINVAL, "no function to call (NULL)");
	for (uint32_t i = 1; error == 0 && i < lhi_slots_ready(&lh->v); i++) {
		struct shm_slot *s = &lh->v.slots[i];
		uint32_t gen = sh32_load(&s->gen);

		if (lhi_slot_key(&lh->v, s, sn.key) == 0 ||
		    strncmp(sn.key, prefix == NULL ? "" : prefix, len) != 0)
			continue;
		error = lhi_snapshot_take(&sn, s);
		if (error == 0 && sh32_load(&s->gen) == gen)
			error = fn(&sn.info, arg);	/* all parts are of
							 * one life of the
							 * slot */
	}
	lhi_snapshot_drop(&sn);
	return error != 0 ? error : lhi_damaged_or(&lh->v, 0);
}

int
lh_status(struct lh *lh, const char *key, const uint64_t id[2], lh_key_fn fn,
    void *arg)
{
	struct lhi_snapshot sn = { .lh = lh };
	int error = lhi_own_to_look(lh);

	if (error == 0 && fn == NULL)
		error = lhi_fail(-EINVAL, "no function to call (NULL)");
	if (error == 0) {
		error = lhi_snapshot_of(&sn, key);
		if (error == 0)
			lhi_cluster_holders_report(&sn, id != NULL);
		else if (id == NULL)
			error = lhi_cluster_holders_of_unknown(&sn, key,
			    error);
	}
	if (error == 0 && id != NULL && !is_held_by(&sn, id))
		error = lhi_damaged_or(&lh->v, lhi_fail(-ESTALE, "that lease "
		    "does not hold '%.64s'", key));
	if (error == 0)
		error = lhi_damaged_or(&lh->v, 0);
	if (error == 0)
		error = fn(&sn.info, arg);
	lhi_snapshot_drop(&sn);
	return error;
}
