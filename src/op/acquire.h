/* SPDX-License-Identifier: MIT */
/* Acquiring.  acquire.c is the fast path, wait.c everything else. */
#ifndef LHI_ACQUIRE_H
#define LHI_ACQUIRE_H

#include "proc/lh.h"

/* What is asked for, checked and in the units of the protocol. */
struct lhi_ask {
	int64_t ttl_ns;
	int64_t until_ns;	/* precise clock; INT64_MAX: no end */
	bool try_only;
	uint32_t priority;
	struct lh_cancel *cancel;
};

/* Options into an ask.  0; -EINVAL, -EOPNOTSUPP with a detail. */
int lhi_ask_set(struct lhi_ask *ask, const struct lh_acquire_opts *opts);

/* The slow path: try, or wait.  Errors as lh_acquire(). */
int lhi_wait_acquire(struct lh *lh, const struct lhi_ref *ref,
    const struct lhi_ask *ask, struct lh_lease *lease);

/*
 * The fast path: an uncontended grant.  True: granted.  False: nothing has
 * been changed; go the slow way.
 */
bool lhi_acquire_fast(struct lh *lh, struct lhi_mag *m,
    const struct lhi_ref *ref, const struct lh_acquire_opts *opts,
    struct lh_lease *lease);

/* Write the caller's lease, and what its release needs into rec. */
static inline void
lhi_lease_fill(struct lhi_mag *m, struct lhi_rec *r, struct lh_lease *l,
    uint32_t slot_idx, uint32_t gen)
{
	l->id[0] = m->sid;
	l->id[1] = r->id;
	l->token = r->token;
	l->mode = LH_EXCLUSIVE;
	l->opaque[0] = (uint64_t)gen << 32 | slot_idx;
	l->opaque[1] = m->tag;
}

/* opaque[1] of a struct whose lease was released (G10) */
#define LEASE_RELEASED UINT64_C(0x72656c6561736564)

/* Free claims of this process that wait: lh_close() looks. */
struct lhi_canceller {
	shm_u32 *park;
	struct lhi_canceller *next;
};

bool lhi_cancelled(const struct lh_cancel *c);
void lhi_cancel_join(struct lh_cancel *c, struct lhi_canceller *me,
    shm_u32 *park);
void lhi_cancel_leave(struct lh_cancel *c, struct lhi_canceller *me);

#endif
