/* SPDX-License-Identifier: MIT */
/* Hand-offs: leases that move to another session (handoff.c), also into named
 * sessions (session_claim.c). */
#ifndef LHI_HANDOFF_H
#define LHI_HANDOFF_H

#include <bsd/sys/queue.h>
#include "op/acquire.h"

/* A process's handle of a named session. */
struct lh_session {
	struct lh *lh;
	uint64_t sid;
	_Atomic bool destroyed;	/* destroyed through this handle */
	bool kept; /* a thread renews it (live/session_renewal.c) */
	int64_t due_ns;
	TAILQ_ENTRY(lh_session) of_kept;
	_Atomic uint32_t hand;	/* the chunk that had a free claim last time */
};

/* A FREE claim that the caller has taken. */
struct lhi_session_claim {
	struct lh *lh;
	uint64_t sid;		/* its session */
	uint32_t ci;
	struct shm_claim *c;
	struct lhi_claim_cache
	    *m; /* the cache of the attachment's own claim; or NULL */
};

/* Takes a claim of the session (NULL: the attachment's own).  Returns 0;
 * -ENOSPC; -ENOMEM; -ESTALE if the session has ended; -EUCLEAN. */
int lhi_session_claim_take(struct lh *lh, struct lh_session *s,
    struct lhi_session_claim *t);

/* Called when the claim is FREE again or holds a lease: others may then take
 * claims of its chunk. */
void lhi_session_claim_leave(struct lhi_session_claim *t);

/* Hands a lease that was acquired for a named session over to it.  Returns 0;
 * or -errno, and then the key was released and not acquired. */
int lhi_handoff_after_acquire(struct lh *lh,
    const struct lhi_acquire_request *ask, struct lh_lease *l);

/* The same, once, for a caller that cannot wait.  Returns 0; or -EAGAIN or
 * another -errno, and then the lease is unchanged. */
int lhi_handoff_try(struct lh *lh, const struct lhi_acquire_request *ask,
    struct lh_lease *l);

#endif
