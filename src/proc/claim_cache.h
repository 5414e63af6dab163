/* SPDX-License-Identifier: MIT */
/* Claim caches: the claims that a thread may use.  See claim_cache.c. */
#ifndef LHI_CLAIM_CACHE_H
#define LHI_CLAIM_CACHE_H

#include "proc/attachment.h"
#include "shm/events.h"
#include "shm/table_age.h"

/* Returns a cleared cell of memory that fork clears, or NULL.  Under
 * lhi_proc_lock(). */
struct lhi_claim_cache *lhi_claim_cache_cell(void);
void lhi_claim_cache_cell_free(struct lhi_claim_cache *m);
void lhi_claim_cache_cells_child(void);

/* Forgets the parent's caches in a forked child (proc/fork.h). */
void lhi_claim_cache_child(bool whole);

/*
 * A thread's data ends in the second round of its destructors, so that those of
 * the application can unlock and release in the first one.  A thread that uses
 * the library for the first time in a destructor of the first two rounds has
 * two more, because libc makes four.  (In a later one its data is lost.)
 */
#define LHI_THREAD_END_ROUND 2

/* Returns this thread's claim cache of the attachment, or NULL without
 * memory. */
struct lhi_claim_cache *lhi_claim_cache_get(struct lh *lh);

/* Returns -ENOMEM, with the reason why there is no claim cache. */
int lhi_claim_cache_fail(void);

/* Returns the attachment's claim cache for the holder of lhi_live_lock(), which
 * belongs to no thread, or NULL without memory. */
struct lhi_claim_cache *lhi_claim_cache_of_no_thread(struct lh *lh);

/* Takes a free claim.  Returns its number in the group (0..7), or -ENOSPC,
 * -ENOMEM or -EUCLEAN. */
int lhi_claim_cache_take(struct lhi_claim_cache *m);

/* The same for a reader: rather the claim that readers' straight path knows. */
int lhi_claim_cache_take_reader(struct lhi_claim_cache *m);

/* Gives back a claim whose state is FREE. */
void lhi_claim_cache_put(struct lhi_claim_cache *m, int bit);

/* Returns the id of a claim's present or last use, from shared memory. */
static inline uint64_t
lhi_claim_cache_id(struct lhi_view *v, uint32_t ci)
{
	struct shm_claim *c = &v->claims[ci];

	return lid_make(ci, lhi_claim_epoch(c),
	    state_seq(sh64_load(&c->state)));
}

/* Remembers which key claim r, one of the cache's, was granted in that mode.
 * All who set slot_ref, other than to 0, do it here. */
static inline __attribute__((always_inline)) void
lhi_claim_cache_set_key(struct lhi_claim_cache *m, struct lhi_cached_claim *r,
    struct shm_slot *s, uint64_t slot_ref, enum lh_mode mode)
{
	r->slot = s;
	r->slot_ref = slot_ref;
	if (lhi_mutant_on(lease_of_last_key))
		return;
	if (mode == LH_EXCLUSIVE && r == &m->rec[0])
		m->head_0[0] = lhi_lease_head_of(slot_ref, LH_EXCLUSIVE);
	if (mode == LH_SHARED && r == &m->rec[READER_CLAIM])
		m->head_1[0] = lhi_lease_head_of(slot_ref, LH_SHARED);
}

/* Fills in the first two words of an exclusive lease of that key. */
static inline void
lhi_claim_cache_lease(const struct lhi_claim_cache *m, uint64_t slot_ref,
    struct lh_lease *l)
{
	const uint64_t head = lhi_lease_head_of(slot_ref, LH_EXCLUSIVE);

	memcpy(l, &head, sizeof(head));
	l->id[0] = lhi_claim_cache_session_id(m);
}

/* Undoes a wait that this thread has left with longjmp. */
static inline void
lhi_claim_cache_leave_wait(struct lhi_claim_cache *m)
{
	if (m->wait.undo != NULL)
		m->wait.undo(m);
}

/* True if all leases must take the slow path: each is recorded, or the table is
 * too old for another one. */
static inline bool
lhi_claim_cache_is_slow(const struct lhi_claim_cache *m)
{
	return lhi_view_watched(&m->lh->v) ||
	    lhi_table_age_left_ns(&m->lh->v, lhi_claim_cache_now_ns(m)) <= 0;
}

/* Detaches every claim cache (lh_close()).  Under lhi_proc_lock(). */
void lhi_claim_cache_detach_all(struct lh *lh);

/* Adds the cache's counts to the session's.  Called by its thread, or after the
 * thread has ended. */
void lhi_claim_cache_flush_counts(struct lhi_claim_cache *m);

/* Records an event, as lhi_event_lease(), if grants and releases are
 * recorded. */
static inline void
lhi_claim_cache_log(struct lhi_claim_cache *m, unsigned kind, bool shared,
    const struct shm_slot *s, uint32_t ci, uint64_t token, unsigned cause)
{
	struct lhi_view *v = &m->lh->v;

	if (m->watched && lhi_view_records(v))
		lhi_event_lease(v, kind, shared, s, ci, token, cause);
}

/* Computes everything that depends on the coarse clock (now ts) and the TTL. */
void lhi_claim_cache_tick(struct lhi_claim_cache *m, const struct timespec *ts,
    int64_t ttl_ms);

#endif
