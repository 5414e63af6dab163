/* SPDX-License-Identifier: MIT */
/* Releasing with a value, or by a request id.  See value.h and lease.h. */
#include <errno.h>
#include <leasehold.h>
#include "base/error.h"
#include "op/handoff.h"
#include "op/idempotency.h"
#include "shm/damaged.h"

int
lh_release_value(struct lh *lh, struct lh_lease *lease, const void *value,
    size_t len)
{
	int error = lh_value_set(lh, lease, value, len);

	return error != 0 ? error : lh_release(lh, lease);
}

int
lh_release_request(struct lh *lh, struct lh_session *session,
    const uint64_t request[2])
{
	struct lh_lease l;
	int error = lhi_own(lh);

	if (error != 0)
		return error;
	if (request == NULL || (request[0] | request[1]) == 0)
		return lhi_fail(-EINVAL, "no request id was given");
	if (session != NULL && session->lh != lh)
		return lhi_fail(-EINVAL, "the session was opened through "
		    "another attachment");
	switch (error = lhi_idempotency_find(lh, session, request, &l)) {
	case REQUEST_HELD:
		return lh_release(lh, &l);
	case REQUEST_RELEASED:
		return 0;
	case REQUEST_LOST:
		return lhi_damaged_or(&lh->v, lhi_fail(-ESTALE, "the lease "
		    "that this request was granted is lost, or has another id "
		    "by now"));
	case REQUEST_BUSY:
		return lhi_damaged_or(&lh->v, lhi_fail(-EBUSY, "the request "
		    "is being waited for: cancel it, then there is nothing to "
		    "release"));
	case REQUEST_NONE:
	case REQUEST_FAILED:
		return lhi_damaged_or(&lh->v, lhi_fail(-ENOENT, "%s", error ==
		    REQUEST_NONE ? "no such request is known, or not any more" :
		    "the request has failed, so it has no lease"));
	default:
		return error;
	}
}
