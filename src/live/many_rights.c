/* SPDX-License-Identifier: MIT */
/*
 * This host's rights to the cluster keys of a set (acquire_many.c).
 *
 * The missing rights are requested together.  The cluster grants a request for
 * several keys as a whole, and it stands in all their queues from the moment
 * when it is made (member/batch.c).  So it may be the first in the queue of a
 * later key while it still waits for an earlier one:
 *
 *	host A		has no right; requests 1 and 2 together; is the first in
 *			the queue for 2, and waits for 1
 *	host B		has the right to 1; its process holds 1, and waits for 2
 *
 * Neither would ever go on.  Hence invariant I6 of acquire_many.c: a process
 * that holds keys of a set does not wait for a right for long.  After
 * PATIENCE_NS without it, it releases the keys that it holds, and begins
 * another round.  Its shim, which stands in the queue for 1 by then, returns
 * the key, and A's request is granted.
 *
 * The question to B's shim stays open meanwhile, so B keeps its place in the
 * queue for 2.  The patience doubles with each such round, up to
 * PATIENCE_MAX_NS, so that a wait for a key that another host holds for long
 * costs little.  (It is not 0, because most rights come sooner than that, and a
 * process that holds 1 and waits for 2 needs nothing but the right to 2.)
 */
#include "base/clock.h"
#include "live/many_rights.h"
#include "shm/key_slot.h"

#define PATIENCE_NS (20 * NS_PER_MS)
#define PATIENCE_MAX_NS (640 * NS_PER_MS)

/* Returns 1 if this host has the right to order[k]; 0; -ESTALE. */
static int
has_right(const struct lhi_many_rights *r, uint32_t k)
{
	const struct lh_item *item = &r->items[r->order[k]];
	struct lhi_key_name name;
	struct lhi_ref ref;
	int found = lhi_name_set(&name, item->key);

	if (found == 0)
		found = lhi_slot_find(&r->lh->v, &name, &ref);
	return found <= 0 ? found : lhi_right_is_valid(&r->lh->v, &ref,
	    item->mode == LH_SHARED, NULL);
}

int
lhi_many_rights_ask(struct lhi_many_rights *r,
    const struct lhi_acquire_request *ask)
{
	struct lhi_cluster_acquire_item items[LH_MANY_MAX];
	int has = 1;

	if (r->request.c != NULL)
		return 0;	/* still open */
	for (uint32_t k = 0; has > 0 && k < r->n; k++) {
		has = has_right(r, k);
		if (has < 0)
			return has;
	}
	if (has > 0)
		return 0;
	for (uint32_t k = 0; k < r->n; k++) {
		items[k].key = r->items[r->order[k]].key;
		items[k].shared = r->items[r->order[k]].mode == LH_SHARED;
	}
	return lhi_cluster_acquire_ask_shim(r->lh, &r->request, items, r->n,
	    ask, 0);
}

void
lhi_many_rights_begin_wait(struct lhi_many_rights *r, uint32_t k)
{
	if (r->patience_ns == 0)
		r->patience_ns = PATIENCE_NS;
	r->look_ns = k == 0 || k >= r->n || lhi_mutant_on(set_holds_on) ?
	    INT64_MAX : lhi_now_ns(&r->lh->v) + r->patience_ns;
}

bool
lhi_many_rights_missing(struct lhi_many_rights *r, uint32_t k)
{
	if (lhi_now_ns(&r->lh->v) < r->look_ns)
		return false;
	if (has_right(r, k) > 0) {	/* processes of this host hold it */
		lhi_many_rights_begin_wait(r, k);
		return false;
	}
	if (r->patience_ns < PATIENCE_MAX_NS)
		r->patience_ns *= 2;
	r->given_up = true;
	return true;
}

void
lhi_many_rights_end_round(struct lhi_many_rights *r)
{
	if (!r->given_up)
		lhi_shim_request_end(&r->request);
	r->given_up = false;
}
