/* SPDX-License-Identifier: MIT */
/* Acquires a key by its name. */
#include <errno.h>
#include "base/error.h"
#include "op/acquire_straight.h"
#include "op/acquire_target.h"
#include "op/cluster_acquire.h"
#include "shm/key_slot.h"

/* Acquires by name: looks the key up, or makes it. */
__attribute__((noinline)) int
lhi_acquire_by_name(struct lh *lh, const char *key,
    const struct lh_acquire_opts *opts, struct lh_lease *lease)
{
	struct lhi_key_name n;
	struct lhi_acquire_target want = { .name = &n };
	struct lhi_acquire_request ask;
	int error;

	if (lhi_acquire_lent_name(lh, key, opts, lease))
		return 0;
	error = lhi_own(lh);
	if (error == 0)
		error = lhi_name_set(&n, key);
	if (error != 0)
		return error;
	if (lease == NULL)
		return lhi_fail(-EINVAL, "no lease was given to fill (NULL)");
	error = lhi_slot_find(&lh->v, &n, &want.ref);
	if (error == 0) {
		/* wrong options must not make a key */
		error = lhi_acquire_request_set(&lh->v, &ask, opts);
		if (error == 0)
			error = lhi_cluster_acquire_check_opts(lh, &ask, &n);
		if (error == 0)
			error = lhi_key_name_resolve(lh, &n,
			    opts == NULL ? 0 : opts->flags, &want.ref);
		if (error != 0)
			return error;
	}
	return error < 0 ? error : lhi_acquire(lh, &want, opts, lease);
}

/* The same for a name that this thread's claim 0 had last. */
static __attribute__((noinline)) int
name_acquire_other(struct lh *lh, enum lhi_how how, const char *key,
    struct lh_lease *lease)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct lhi_acquire_target want = {
		.ref = { m->rec[0].slot, m->rec[0].slot_ref },
	};
	struct lhi_key_name n;
	int error;

	if (how == UNTOUCHED)
		how = lhi_acquire_over_all(m, m->usual, lh, want.ref.slot_ref,
		    lease);
	if (how == GRANTED)
		return 0;
	if (how == OUTDONE)
		lhi_acquire_retract(m, &m->rec[0]);
	if (how != LATE)
		return lhi_acquire_by_name(lh, key, NULL, lease);
	error = lhi_name_set(&n, key);	/* it is a slot's key: no error */
	want.name = &n;
	return error != 0 ? error :
	    lhi_acquire_rest(lh, how, &want, NULL, lease);
}

/* Acquires by name.  Usually it is the name that this thread used last.  Then
 * the slot is known, and comparing the key is the whole lookup. */
int
lh_acquire(struct lh *lh, const char *key, const struct lh_acquire_opts *opts,
    struct lh_lease *lease)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	enum lhi_how how;

	if (unlikely(m->usual != lh) || unlikely(m->rec[0].slot_ref == 0) ||
	    unlikely(key == NULL) || unlikely(lease == NULL) ||
	    unlikely(opts != NULL) ||
	    unlikely(!lhi_slot_is(m->rec[0].slot, key)))
		return lhi_acquire_by_name(lh, key, opts, lease);
	how = lhi_acquire_usual(m, m->usual, lh, m->rec[0].slot_ref, lease);
	return likely(how == GRANTED) ? 0 :
	    name_acquire_other(lh, how, key, lease);
}
