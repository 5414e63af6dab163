/* SPDX-License-Identifier: MIT */
/* Finds the slot of a caller's key: see acquire_target.h. */
#include <errno.h>
#include <pthread.h>
#include "base/error.h"
#include "shm/damaged.h"
#include "shm/key_make.h"
#include "op/acquire_target.h"
#include "proc/claim_cache.h"

#define KEEP_TRIES 100

int
lhi_key_name_resolve(struct lh *lh, const struct lhi_key_name *n,
    uint32_t flags, struct lhi_ref *ref)
{
	int found = lhi_slot_find(&lh->v, n, ref), bit, error, cancel;
	struct lhi_claim_cache *m;

	if (found != 0)
		return found < 0 ? found : 0;
	if (flags & LH_NO_CREATE)
		return lhi_fail(-ENOENT, "there is no key '%.64s' in table %s",
		    n->key, lh->name);
	error = lhi_view_fresh(&lh->v);
	if (error != 0)
		return error;
	m = lhi_claim_cache_get(lh);
	if (m == NULL)
		return lhi_claim_cache_fail();
	/* growing the table opens and allocates; a thread cancelled there would
	 * leave its claim in the middle of making a key */
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	bit = lhi_claim_cache_take(m);
	if (bit < 0) {
		error = bit;
	} else {
		error = lhi_slot_make(&lh->v, n, m->base + (uint32_t)bit, ref);
		lhi_claim_cache_put(m, bit);
	}
	(void)pthread_setcancelstate(cancel, NULL);
	return error;
}

int
lhi_key_name_keep(struct lh *lh, const struct lhi_key_name *n)
{
	struct lhi_ref ref = { 0 };
	int error;

	/* the key may be evicted between the two calls; many times in a row,
	 * something is damaged */
	for (int i = 0; i < KEEP_TRIES; i++) {
		error = lhi_key_name_resolve(lh, n, 0, &ref);
		lhi_point("name.resolved");
		if (error != 0 || lhi_slot_flag(&lh->v, &ref, KEY_KEPT))
			return error;
	}
	return lhi_damaged(&lh->v, "a key is not what it says", ref.slot_ref,
	    n->hash);
}

int
lhi_key_name_check(struct lh *lh, const char *key, uint32_t flags,
    struct lhi_key_name *n)
{
	int error = lhi_own(lh);

	if (error == 0)
		error = lhi_name_set(n, key);
	if (error == 0 && (flags & ~LH_NO_CREATE))
		error = lhi_fail(-EINVAL, "unknown flag in 0x%x", flags);
	return error;
}
