/* SPDX-License-Identifier: MIT */
/* Acquiring and releasing with a request id: see idempotency.c. */
#ifndef LHI_IDEMPOTENCY_H
#define LHI_IDEMPOTENCY_H

#include "op/acquire.h"
#include "shm/request_record.h"

/* Begins an acquire with a request id.  Returns REQUEST_OURS: acquire, then
 * call lhi_idempotency_finish().  Any other result is that of the acquire: 0
 * with the lease that the request was granted before, or -errno. */
int lhi_idempotency_begin(struct lh *lh, const struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lhi_request *q,
    struct lh_lease *lease);

/* The same without waiting.  May also return REQUEST_BUSY: try again. */
int lhi_idempotency_try(struct lh *lh, const struct lhi_key_name *name,
    const struct lhi_acquire_request *ask, struct lhi_request *q,
    struct lh_lease *lease);

/* After a repeated acquire was answered with `lease`: sets the value that was
 * requested with it, if it was never set.  Returns 0; or -errno, and the lease
 * is unchanged. */
int lhi_idempotency_set_value(struct lh *lh,
    const struct lhi_acquire_request *ask, struct lhi_request *q,
    struct lh_lease *lease);

/* Records the outcome of the acquire: 0 or -errno. */
void lhi_idempotency_finish(struct lh *lh,
    const struct lhi_acquire_request *ask, struct lhi_request *q, int error);

/* Finds the request with that id in the session (NULL: the attachment's own).
 * Returns REQUEST_HELD, with its lease as it is now in *lease; another
 * REQUEST_...; or -errno. */
int lhi_idempotency_find(struct lh *lh, const struct lh_session *session,
    const uint64_t id[2], struct lh_lease *lease);

/* Called before a lease is released, and unchecked.  If a request was granted
 * it, its record says RELEASED from now on. *q is for the call below. */
void lhi_idempotency_begin_release(struct lh *lh, const struct lh_lease *l,
    struct lhi_request *q);

/* Called with the result of the release; returns what the release must return.
 * That is 0, with *l released, also if the lease was lost because it had been
 * released before, and a request was granted it (guarantee G10). */
int lhi_idempotency_end_release(struct lh *lh, struct lh_lease *l,
    struct lhi_request *q, int error);

#endif
