/* SPDX-License-Identifier: MIT */
/* Acquiring and releasing with a request id.  See idempotency.c. */
#ifndef LHI_IDEMPOTENCY_H
#define LHI_IDEMPOTENCY_H

#include "op/acquire.h"
#include "shm/request_record.h"

/*
 * Begins an acquire with a request id.  REQUEST_OURS: acquire, then call
 * lhi_idempotency_finish(); anything else is the acquire's result: 0 with the
 * lease that the request was granted before, or -errno.
 */
int lhi_idempotency_begin(struct lh *lh, const struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lhi_request *q,
    struct lh_lease *lease);

/* The same without waiting: also REQUEST_BUSY, then try again. */
int lhi_idempotency_try(struct lh *lh, const struct lhi_key_name *name,
    const struct lhi_acquire_request *ask, struct lhi_request *q,
    struct lh_lease *lease);

/* A repeated acquire was answered with `lease`: sets the value that was asked
 * for with it, if it never was set.  0, or -errno: the lease is as it was. */
int lhi_idempotency_set_value(struct lh *lh,
    const struct lhi_acquire_request *ask, struct lhi_request *q,
    struct lh_lease *lease);

/* Records the outcome of the acquire: 0 or -errno. */
void lhi_idempotency_finish(struct lh *lh,
    const struct lhi_acquire_request *ask, struct lhi_request *q, int error);

/*
 * Finds the request with that id in the session (NULL: the attachment's own).
 * REQUEST_HELD: *lease is the one that it was granted, as it is now; any other
 * REQUEST_...; -errno.
 */
int lhi_idempotency_find(struct lh *lh, const struct lh_session *session,
    const uint64_t id[2], struct lh_lease *lease);

/*
 * Called before a lease is released (and not checked yet): if a request was
 * granted it, its record says RELEASED from now on.  *q is for the call below.
 */
void lhi_idempotency_begin_release(struct lh *lh, const struct lh_lease *l,
    struct lhi_request *q);

/*
 * Called with what the release returned; returns what it is to return: 0, with
 * *l released, also if it had lost the lease, but the lease had been released
 * before, and was granted to a request (G10).
 */
int lhi_idempotency_end_release(struct lh *lh, struct lh_lease *l,
    struct lhi_request *q, int error);

#endif
