/* SPDX-License-Identifier: MIT */
/* Acquiring and releasing with a request id.  See idempotency.c. */
#ifndef LHI_IDEMPOTENCY_H
#define LHI_IDEMPOTENCY_H

#include "op/acquire.h"
#include "shm/request_record.h"

/*
 * What is to be done about an acquire with an id?  REQUEST_OURS: do it, and
 * tell lhi_idempotency_done(); anything else is its result: 0 with the lease
 * that the request was granted, or -errno.
 */
int lhi_idempotency_enter(struct lh *lh, const struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lhi_request *q,
    struct lh_lease *lease);

/* The same, but it does not wait: REQUEST_BUSY, ask again. */
int lhi_idempotency_ask(struct lh *lh, const struct lhi_key_name *name,
    const struct lhi_acquire_request *ask, struct lhi_request *q,
    struct lh_lease *lease);

/* Repeated, and answered with `lease`: the value that was asked for with it is
 * set if it never was.  0, or -errno: the lease is as it was. */
int lhi_idempotency_valued(struct lh *lh, const struct lhi_acquire_request *ask,
    struct lhi_request *q, struct lh_lease *lease);

/* It is done: 0 or -errno. */
void lhi_idempotency_done(struct lh *lh, const struct lhi_acquire_request *ask,
    struct lhi_request *q, int error);

/*
 * Finds the request with that id in the session (NULL: the attachment's own).
 * REQUEST_HELD: *lease is the one that it was granted, as it is now; any other
 * REQUEST_...; -errno.
 */
int lhi_idempotency_find(struct lh *lh, const struct lh_session *session,
    const uint64_t id[2], struct lh_lease *lease);

/*
 * A lease is about to be released (not checked yet).  If a request was granted
 * it, that says so from now on.  *q is for lhi_idempotency_left().
 */
void lhi_idempotency_leaves(struct lh *lh, const struct lh_lease *l,
    struct lhi_request *q);

/*
 * So the release answered; what it is to answer: 0, with *l released, also if
 * it had lost the lease, but this had been released before, and was got by a
 * request (G10).
 */
int lhi_idempotency_left(struct lh *lh, struct lh_lease *l, struct lhi_request
    *q, int error);

#endif
