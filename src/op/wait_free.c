/* SPDX-License-Identifier: MIT */
/*
 * lh_wait_free(): waits until nobody holds the key.
 *
 * These waiters are not queued, so nobody waits for them, and nothing wakes
 * them.  They poll: soon at first, later every 5 ms.  Each look frees the key
 * from holders that are gone, as every look does (shm/lock_word.c).  Idle
 * readers are revoked; they held nothing.
 */
#include <errno.h>
#include <pthread.h>
#include <leasehold/ticket.h>
#include "base/error.h"
#include "op/acquire.h"
#include "op/busy_detail.h"
#include "op/death_hint.h"
#include "op/acquire_target.h"
#include "prim/robust_list.h"
#include "proc/claim_cache.h"
#include "shm/damaged.h"
#include "shm/lock_word.h"

#define SOON_NS (NS_PER_MS / 4)
#define LATE_NS (5 * NS_PER_MS)
#define PROBE_NS (20 * NS_PER_MS)	/* asks whether the holder lives */

struct vacancy {
	struct lh *lh;
	const struct lhi_key_name *name;
	struct lhi_acquire_request ask;
	int64_t probed_ns;
	struct lhi_death_hint hint;
	shm_u32 park;
};

/* 1 held, and *slot, *w say by whom; 0 not; -errno. */
static int
find_holder(struct vacancy *a, struct shm_slot **slot, uint64_t *w)
{
	struct lhi_view *v = &a->lh->v;
	int64_t now = lhi_now_ns(v);
	bool probe = lhi_death_hint_take(v, &a->hint) ||
	    a->hint.value & ROBUST_MARKED || now - a->probed_ns >= PROBE_NS;
	struct lhi_ref ref;
	int found = lhi_slot_find(v, a->name, &ref);

	if (found <= 0)
		return found;
	if (probe)
		a->probed_ns = now;
	found = lhi_lock_settle(v, ref.slot, now, SETTLE_READERS |
	    (probe ? SETTLE_PROBE : 0), w);
	*slot = ref.slot;
	if (found != 0)
		return found;
	return (word_mode(*w) == WORD_X || word_mode(*w) == WORD_S) &&
	    sh32_load(&ref.slot->gen) == ref.slot_ref >> 32;
}

static void
sleep_or_until_end(struct vacancy *a, uint64_t w, int64_t ns)
{
	int64_t left = a->ask.until_ns - lhi_now_ns(&a->lh->v);
	int64_t now = lhi_clock_ns(CLOCK_MONOTONIC), until;

	until = lhi_death_hint_choose(&a->lh->v, &a->hint, w, now,
	    now + (ns < left ? ns : left));
	lhi_death_hint_sleep(&a->hint, &a->park, PARK_ASLEEP, until);
}

static int
await_free(struct vacancy *a)
{
	struct lhi_view *v = &a->lh->v;
	struct shm_slot *slot = NULL;
	int64_t ns = SOON_NS;
	uint64_t w = 0;
	int held;

	/* ends: at the caller's deadline or cancel */
	for (;;) {
		held = lhi_view_fresh(v);
		if (held == 0)
			held = find_holder(a, &slot, &w);
		if (held <= 0)	/* zeros hold nothing */
			return lhi_damaged_or(v, held);
		if (lhi_cancel_is_set(a->ask.cancel))
			return lhi_busy_detail_fail(v, slot, w, -ECANCELED);
		if (a->ask.try_only)
			return lhi_busy_detail_fail(v, slot, w, -EAGAIN);
		if (lhi_now_ns(v) >= a->ask.until_ns)
			return lhi_busy_detail_fail(v, slot, w, -ETIMEDOUT);
		sleep_or_until_end(a, w, ns);
		ns = ns * 2 < LATE_NS ? ns * 2 : LATE_NS;
	}
}

int
lh_wait_free(struct lh *lh, const char *key,
    const struct lh_acquire_opts *opts)
{
	struct lhi_key_name n;
	struct vacancy a = { .lh = lh, .name = &n };
	struct lhi_process_watch none = { 0 };
	struct lhi_claim_cache *m;
	struct lhi_canceller me;
	int error = lhi_key_name_check(lh, key, 0, &n), cancel;

	if (error == 0)
		error = lhi_acquire_request_set(&lh->v, &a.ask, opts);
	if (error != 0)
		return error;
	if (lhi_cancel_is_set(a.ask.cancel))
		return lhi_fail(-ECANCELED, "the wait was cancelled before it "
		    "began");
	sh32_store_rlx(&a.park, PARK_ASLEEP);
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	atomic_fetch_add(&lh->waiting, 1);
	lhi_cancel_join(a.ask.cancel, &me, &a.park);
	m = lhi_claim_cache_get(lh);	/* which survives a jump out of here */
	a.hint.watch = m == NULL ? &none : &m->wait.watch;
	error = await_free(&a);
	lhi_death_hint_drop(&a.hint);
	lhi_cancel_leave(a.ask.cancel, &me);
	atomic_fetch_sub(&lh->waiting, 1);
	(void)pthread_setcancelstate(cancel, NULL);
	return error;
}
