/* SPDX-License-Identifier: MIT */
/* Leases that change hands: see handoff.c; into named sessions:
 * session_claim.c. */
#ifndef LHI_HANDOFF_H
#define LHI_HANDOFF_H

#include <bsd/sys/queue.h>
#include "op/acquire.h"

/* A named session, as a process uses it. */
struct lh_session {
	struct lh *lh;
	uint64_t sid;
	_Atomic bool destroyed;	/* through this handle */
	bool kept; /* live/session_renewal.c: it is renewed by a thread */
	int64_t due_ns;
	TAILQ_ENTRY(lh_session) of_kept;
	_Atomic uint32_t hand;	/* chunk that had a free claim the last time */
};

/* A claim that is ours, and FREE. */
struct lhi_session_claim {
	struct lh *lh;
	uint64_t sid;		/* whose it is */
	uint32_t ci;
	struct shm_claim *c;
	struct lhi_claim_cache
	    *m; /* the attachment's own: from here; or NULL */
};

/* Take a claim of the session (NULL: the attachment's own).  0; -ENOSPC;
 * -ENOMEM; -ESTALE: the session has ended; -EUCLEAN. */
int lhi_session_claim_take(struct lh *lh, struct lh_session *s,
    struct lhi_session_claim *t);

/* It is FREE again, or holds a lease: others may take claims beside it. */
void lhi_session_claim_leave(struct lhi_session_claim *t);

/* An acquire into a named session has been granted: hand it over.  0, or
 * -errno: then the key is released, and not acquired. */
int lhi_handoff_after_acquire(struct lh *lh,
    const struct lhi_acquire_request *ask, struct lh_lease *l);

/* The same, once, for who cannot wait: -EAGAIN, the lease is as it was, and so
 * it is with every other error. */
int lhi_handoff_try(struct lh *lh, const struct lhi_acquire_request *ask,
    struct lh_lease *l);

#endif
