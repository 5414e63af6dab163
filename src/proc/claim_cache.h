/* SPDX-License-Identifier: MIT */
/* Claim caches: a thread's claims.  See claim_cache.c. */
#ifndef LHI_CLAIM_CACHE_H
#define LHI_CLAIM_CACHE_H

#include "proc/attachment.h"
#include "shm/events.h"
#include "shm/table_age.h"

/* A cell of fork-wiped memory (zeroed), or NULL.  Under lhi_proc_lock(). */
struct lhi_claim_cache *lhi_claim_cache_cell(void);
void lhi_claim_cache_cell_free(struct lhi_claim_cache *m);
void lhi_claim_cache_cells_child(void);

/* In a forked child: forget what the parent had (proc/fork.h). */
void lhi_claim_cache_child(bool whole);

/* This thread's claim cache of the attachment; NULL: out of memory. */
struct lhi_claim_cache *lhi_claim_cache_get(struct lh *lh);

/*
 * The attachment's claim cache that belongs to no thread, but to whoever holds
 * lhi_live_lock(); NULL: out of memory.
 */
struct lhi_claim_cache *lhi_claim_cache_of_no_thread(struct lh *lh);

/*
 * Take a free claim out of it: its number in the group (0..7), or -ENOSPC,
 * -ENOMEM, -EUCLEAN.
 */
int lhi_claim_cache_take(struct lhi_claim_cache *m);

/* Put it back: its state is FREE. */
void lhi_claim_cache_put(struct lhi_claim_cache *m, int bit);

/* The id of a claim's present or last use, from shared memory. */
static inline uint64_t
lhi_claim_cache_id(struct lhi_view *v, uint32_t ci)
{
	struct shm_claim *c = &v->claims[ci];

	return lid_make(ci, lhi_claim_epoch(c),
	    state_seq(sh64_load(&c->state)));
}

/* Takes back what a wait of this thread left that it has jumped out of. */
static inline void
lhi_claim_cache_leave_wait(struct lhi_claim_cache *m)
{
	if (m->wait.undo != NULL)
		m->wait.undo(m);
}

/* True if all its leases are to go the slow way: somebody is told of each, or
 * the table is too old for another one. */
static inline bool
lhi_claim_cache_is_slow(const struct lhi_claim_cache *m)
{
	return lhi_view_watched(&m->lh->v) ||
	    lhi_table_age_left_ns(&m->lh->v, lhi_claim_cache_now_ns(m)) <= 0;
}

/* lh_close(): detach every claim cache.  Under lhi_proc_lock(). */
void lhi_claim_cache_detach_all(struct lh *lh);

/* Adds its counts to the session's.  By its thread, or when that is gone. */
void lhi_claim_cache_flush_counts(struct lhi_claim_cache *m);

/* As lhi_event_lease(), if grants and releases are to be told. */
static inline void
lhi_claim_cache_log(struct lhi_claim_cache *m, unsigned kind, bool shared,
    const struct shm_slot *s, uint32_t ci, uint64_t token, unsigned cause)
{
	struct lhi_view *v = &m->lh->v;

	if (m->watched && (sh32_load_rlx(&v->hdr->flags) & SHM_LOG_GRANTS))
		lhi_event_lease(v, kind, shared, s, ci, token, cause);
}

/* The coarse clock shows ts, or leases of another ttl are wanted. */
void lhi_claim_cache_tick(struct lhi_claim_cache *m, const struct timespec *ts,
    int64_t ttl_ms);

#endif
