/* SPDX-License-Identifier: MIT */
/* Magazines: a thread's claims.  See claim_cache.c. */
#ifndef LHI_CLAIM_CACHE_H
#define LHI_CLAIM_CACHE_H

#include "proc/attachment.h"
#include "shm/events.h"

/* A cell of fork-wiped memory (zeroed), or NULL.  Under lhi_proc_lock(). */
struct lhi_mag *lhi_mag_cell(void);
void lhi_mag_cell_free(struct lhi_mag *m);
void lhi_mag_cells_child(void);

/* In a forked child: forget what the parent had. */
void lhi_mag_child(void);

/* This thread's magazine of the attachment; NULL: out of memory. */
struct lhi_mag *lhi_mag_get(struct lh *lh);

/*
 * The attachment's magazine that belongs to no thread, but to whoever holds
 * lhi_live_lock(); NULL: out of memory.
 */
struct lhi_mag *lhi_mag_of_no_thread(struct lh *lh);

/*
 * Take a free claim out of it: its number in the group (0..7), or -ENOSPC,
 * -ENOMEM, -EUCLEAN.
 */
int lhi_mag_take(struct lhi_mag *m);

/* Put it back: its state is FREE. */
void lhi_mag_put(struct lhi_mag *m, int bit);

/* The id of a claim's present or last use, from shared memory. */
static inline uint64_t
lhi_mag_claim_id(struct lhi_view *v, uint32_t ci)
{
	struct shm_claim *c = &v->claims[ci];

	return lid_make(ci, lhi_claim_epoch(c),
	    state_seq(sh64_load(&c->state)));
}

/* lh_close(): detach every magazine.  Under lhi_proc_lock(). */
void lhi_mag_detach_all(struct lh *lh);

/* Its counts become the session's.  By its thread, or when that is gone. */
void lhi_mag_tell(struct lhi_mag *m);

/* As lhi_event_lease(), if grants and releases are to be told. */
static inline void
lhi_mag_log(struct lhi_mag *m, unsigned kind, bool shared,
    const struct shm_slot *s, uint32_t ci, uint64_t token, unsigned cause)
{
	struct lhi_view *v = &m->lh->v;

	if (m->watched && (sh32_load_rlx(&v->hdr->flags) & SHM_LOG_GRANTS))
		lhi_event_lease(v, kind, shared, s, ci, token, cause);
}

/* The coarse clock shows ts, or leases of another ttl are wanted. */
void lhi_mag_tick(struct lhi_mag *m, const struct timespec *ts, int64_t ttl_ms);

#endif
