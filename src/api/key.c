/* SPDX-License-Identifier: MIT */
/* Keys by name, and opened keys.  See key.h. */
#include <errno.h>
#include "base/error.h"
#include "op/acquire.h"
#include "proc/keys.h"
#include "proc/magazine.h"

/* Find the key, making it unless LH_NO_CREATE. */
static int
resolve(struct lh *lh, const struct lhi_name *n, uint32_t flags,
    struct lhi_ref *ref)
{
	int found = lhi_slot_find(&lh->v, n, ref), bit, error;
	struct lhi_mag *m;

	if (found != 0)
		return found < 0 ? found : 0;
	if (flags & LH_NO_CREATE)
		return lhi_fail(-ENOENT, "there is no key '%.64s' in table %s",
		    n->key, lh->name);
	error = lhi_view_fresh(&lh->v);
	if (error != 0)
		return error;
	m = lhi_mag_get(lh);
	if (m == NULL)
		return lhi_fail(-ENOMEM, "out of memory");
	bit = lhi_mag_take(m);
	if (bit < 0)
		return bit;
	error = lhi_slot_make(&lh->v, n, m->base + (uint32_t)bit, ref);
	lhi_mag_put(m, bit);
	return error;
}

static int
check(struct lh *lh, const char *key, uint32_t flags, struct lhi_name *n)
{
	int error = lhi_own(lh);

	if (error == 0)
		error = lhi_name_set(n, key);
	if (error == 0 && (flags & ~LH_NO_CREATE))
		error = lhi_fail(-EINVAL, "unknown flag in 0x%x", flags);
	return error;
}

int
lh_key_open(struct lh *lh, const char *key, uint32_t flags,
    struct lh_key **out)
{
	struct lhi_name n;
	struct lhi_ref ref;
	struct lh_key *k;
	int error = check(lh, key, flags, &n);

	if (error != 0)
		return error;
	if (out == NULL)
		return lhi_fail(-EINVAL, "nowhere to put the handle (NULL)");
	k = lhi_keys_find(lh, &n);
	if (k == NULL) {
		error = resolve(lh, &n, flags, &ref);
		if (error != 0)
			return error;
		k = lhi_keys_add(lh, &n, &ref);
		if (k == NULL)
			return lhi_fail(-ENOMEM, "out of memory");
	}
	*out = k;
	return 0;
}

int
lh_key_close(struct lh_key *key)
{
	int error;

	if (key == NULL)
		return lhi_fail(-EINVAL, "no key was given (NULL)");
	error = lhi_own(key->lh);
	if (error == 0)
		lhi_keys_drop(key);
	return error;
}

int
lh_key_create(struct lh *lh, const char *key)
{
	struct lhi_name n;
	struct lhi_ref ref;
	int error = check(lh, key, 0, &n);

	return error != 0 ? error : resolve(lh, &n, 0, &ref);
}

const char *
lh_key_name(const struct lh_key *key)
{
	return key->name;
}

static __attribute__((noinline)) int
acquire_slow(struct lh *lh, const char *key, const struct lh_acquire_opts *opts,
    struct lh_lease *lease)
{
	struct lhi_name n;
	struct lhi_ref ref;
	struct lhi_ask ask;
	int error = check(lh, key, 0, &n);

	if (error == 0)
		error = lhi_ask_set(&ask, opts);
	if (error != 0)
		return error;
	if (lease == NULL)
		return lhi_fail(-EINVAL, "no lease was given to fill (NULL)");
	error = resolve(lh, &n, opts == NULL ? 0 : opts->flags, &ref);
	if (error != 0)
		return error;
	return lhi_wait_acquire(lh, &ref, &ask, lease);
}

int
lh_acquire(struct lh *lh, const char *key, const struct lh_acquire_opts *opts,
    struct lh_lease *lease)
{
	struct lhi_mag *m = lhi_mag_current;
	struct lhi_name n;
	struct lhi_ref ref;

	/* a magazine that is ours proves that lh is, and not inherited */
	if (likely(m != NULL && m->lh == lh && m->tag != 0 && key != NULL &&
	    lease != NULL && lhi_name_set(&n, key) == 0 &&
	    lhi_slot_find(&lh->v, &n, &ref) == 1 &&
	    lhi_acquire_fast(lh, m, &ref, opts, lease)))
		return 0;
	return acquire_slow(lh, key, opts, lease);
}
