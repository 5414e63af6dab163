/* SPDX-License-Identifier: MIT */
/*
 * The value of a key, set under a lease.  It answers the question: may this
 * lease set the value now?  acquire_options.c and lh_value_set() call it.
 *
 * shm/value_record.c writes the value and swaps it in.  Here the lease is
 * checked twice.  The first check is between the reading of slot.value and its
 * swap.  So a lease that was lost, after which another holder may have set a
 * value, is refused, or its swap fails.  The second check is after the swap, by
 * the precise clock, because the change counts only if the lease was alive
 * then.  A late change is undone (amendment C11, guarantees G3 and G11).
 *
 * 1. Make a record with the value.
 * 2. Read slot.value.
 * 3. Check that the lease is current, its word grants it, and its deadline has
 *    not passed; otherwise return -ESTALE with nothing changed.
 * 4. Swap; if that fails, repeat step 2.
 * 5. Check as in step 3; if that fails, undo and return -ESTALE.
 *
 * Only an exclusive holder sets the value.  So if two do so at the same time,
 * they are threads with the same lease, or one of them has lost it.
 *
 * A crash or stop: see shm/value_record.c.  With an acquire, the value is set
 * between the grant and the return.  If the process is killed there, the caller
 * never learnt of either.  A repetition of its request (guarantee G10) sets the
 * value if none was set under that lease yet.  With a release, the value is set
 * before the release.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <leasehold/value.h>
#include "base/error.h"
#include "op/lease_check.h"
#include "op/acquire_target.h"
#include "op/lease_value.h"
#include "shm/damaged.h"
#include "shm/cluster_right.h"
#include "shm/key_bytes.h"
#include "shm/value_record.h"

#define TRIES 1000		/* each time another thread was quicker */

static_assert(LH_VALUE_MAX == SHM_VALUE_MAX, "the same");

/* Steps 3 and 5. */
static bool
is_holder(struct lh *lh, const struct lh_lease *l, const struct lhi_held *h)
{
	uint64_t st = sh64_load(&h->claim->state);

	return lhi_lease_status(lh, l, h, st) != LEASE_OVER &&
	    !lhi_lease_is_orphaned(lh, l);
}

/* 0, LEASE_LIVES, -errno. */
static int
set_value(struct lh *lh, const struct lh_lease *l, const struct lhi_held *h,
    const void *value, size_t len)
{
	struct lhi_view *v = &lh->v;
	struct lhi_setting t;
	int error = lhi_value_begin(v, &t, lh->sid, h->slot, l->token, value,
	    len);

	for (int i = 0; error == 0 && i < TRIES; i++) {
		lhi_value_look(v, &t);
		if (!is_holder(lh, l, h)) {
			lhi_value_drop(v, &t);
			return lhi_lease_enforce(lh, l, h);
		}
		if (!lhi_value_swap(v, &t))
			continue;
		if (is_holder(lh, l, h) || lhi_mutant_on(value_kept)) {
			lhi_value_keep(v, &t);
			return 0;
		}
		lhi_value_undo(v, &t);
		return lhi_lease_enforce(lh, l, h);
	}
	if (error != 0)
		return error;
	t.held = 0;
	lhi_value_drop(v, &t);
	return lhi_fail(-EAGAIN, "other threads set the value of that key all "
	    "the time");
}

/* Its length is in range. */
static int
check_and_set_value(struct lh *lh, const struct lh_lease *l, const void *value,
    size_t len)
{
	char key[SHM_KEY_MAX + 1] = "";
	struct lhi_held h;
	uint32_t n = 0;
	int error = lhi_lease_check(lh, l, &h), cancel;

	if (error == -EALREADY)
		return lhi_fail(-ESTALE, "this lease was released");
	if (error != 0)
		return error;
	if (lhi_right_has(h.slot)) {
		(void)lhi_slot_key(&lh->v, h.slot, key);
		return lhi_right_refuse_value(key);
	}
	if (h.shared)
		return lhi_fail(-EINVAL, "a value is set by who holds the key "
		    "alone: this is a shared lease");
	/* growing opens and allocates: a thread that is cancelled in there
	 * would keep a record for as long as its process lives */
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	do
		error = set_value(lh, l, &h, value, len);
	while (error == LEASE_LIVES && LHI_WITHIN(n, LHI_SWAPS_MAX));
	if (error == LEASE_LIVES)
		error = lhi_damaged_restless(&lh->v, "a lease", h.ci);
	(void)pthread_setcancelstate(cancel, NULL);
	return error;
}

/* True if the value of the lease's key was set under this very lease. */
static bool
is_value_of(struct lh *lh, const struct lh_lease *l)
{
	struct shm_slot *s = lhi_slot(&lh->v, l->key);
	struct lhi_value value;

	return s != NULL && lhi_value_read(&lh->v, s, &value) == 1 &&
	    value.token == l->token;
}

int
lhi_lease_value_set_once(struct lh *lh, const struct lhi_acquire_request *ask,
    const struct lh_lease *lease)
{
	const struct lh_acquire_more *m = ask->more;

	if (m->value == NULL || is_value_of(lh, lease))
		return 0;
	lhi_point("acquire.valued");
	return check_and_set_value(lh, lease, m->value, m->value_len);
}

static int
check_value(const void *value, size_t len)
{
	if (len > SHM_VALUE_MAX)
		return lhi_fail(-EINVAL, "a value of %zu bytes: %u are the "
		    "most", len, SHM_VALUE_MAX);
	if (value == NULL && len > 0)
		return lhi_fail(-EINVAL, "no value was given (NULL), of %zu "
		    "bytes", len);
	return 0;
}

int
lh_value_set(struct lh *lh, const struct lh_lease *lease, const void *value,
    size_t len)
{
	int error = check_value(value, len);

	return error != 0 ? error : check_and_set_value(lh, lease, value, len);
}

/* The value of that life of the slot.  1, 0: it has none; -EAGAIN; -EUCLEAN. */
static int
read_value(struct lh *lh, const struct lhi_ref *ref, struct lhi_value *value)
{
	int got = lhi_value_read(&lh->v, ref->slot, value);

	if (got >= 0 && (sh32_load(&ref->slot->gen) != ref->slot_ref >> 32 ||
	    word_mode(sh64_load(&ref->slot->word)) == WORD_NONE))
		return -EAGAIN;		/* another key's, or nobody's */
	return got;
}

int
lh_value_get(struct lh *lh, const char *key, void *value, size_t *len,
    uint64_t *token)
{
	struct lhi_value got = { .len = 0 };
	struct lhi_key_name n;
	struct lhi_ref ref;
	int error = lhi_own_to_look(lh);

	if (error == 0)
		error = lhi_name_set(&n, key);
	if (error == 0 && (value == NULL || len == NULL))
		error = lhi_fail(-EINVAL, "nowhere to put the value (NULL)");
	if (error == 0 && lhi_right_wanted(&lh->v, &n))
		error = lhi_right_refuse_value(n.key);
	if (error == 0 && lhi_view_retired(&lh->v))
		error = lhi_view_fresh(&lh->v);
	if (error != 0)
		return error;
	error = -EAGAIN;
	for (int i = 0; error == -EAGAIN && i < TRIES; i++) {
		error = lhi_slot_find(&lh->v, &n, &ref);
		if (error == 0)
			return lhi_fail(-ENOENT, "there is no key '%.64s' in "
			    "table %s", key, lh->name);
		if (error == 1)
			error = read_value(lh, &ref, &got);
	}
	if (error == -EAGAIN)
		return lhi_fail(error, "the value of '%.64s' does not hold "
		    "still: try again", key);
	if (error < 0)
		return error;
	if (error == 0)
		got.len = got.token = 0;
	memcpy(value, got.byte, got.len);
	*len = got.len;
	if (token != NULL)
		*token = got.token;
	return 0;
}
