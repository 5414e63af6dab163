/* SPDX-License-Identifier: MIT */
/* Reads a lease's key, times and policy, which its struct does not have.  See
 * lease.h. */
#include <errno.h>
#include <string.h>
#include <leasehold.h>
#include "base/error.h"
#include "inspect/describe_claim.h"
#include "op/cluster_check.h"
#include "op/lease_check.h"
#include "shm/claim_record.h"
#include "shm/session_liveness.h"

_Static_assert(LH_KEY_MAX == SHM_KEY_MAX, "a key in both worlds");

#define LOOKS 100		/* reads of a lease that is being extended */

/* Reads it once.  Returns 0, -EAGAIN if it has changed meanwhile, or why it is
 * not held. */
static int
read_info(struct lh *lh, const struct lh_lease *l, struct lh_lease_info *info)
{
	struct lh_party p = { 0 };
	struct lhi_held h;
	uint64_t st = 0;
	int error = lhi_lease_check(lh, l, &h);

	if (error != 0 && error != -EALREADY)
		return error;
	if (error == 0) {
		p.id[0] = l->id[0];
		st = sh64_load(&h.claim->state);
		if (lhi_named_is(&lh->v, h.sid))
			p.flags = LH_PARTY_SESSION;
		lhi_describe_claim_ends(&lh->v, &p, st);
		info->policy = p.policy;
		info->expires_ns = lhi_cluster_check_end_ns(&h, p.expires_ns);
		info->acquired_ns = lhi_claim_since_ns(&lh->v, h.claim);
		if (lhi_slot_key(&lh->v, h.slot, info->key) == 0)
			info->key[0] = '\0';
	}
	error = lh_verify(lh, l);	/* so what was read was the lease's */
	if (error != 0)
		return error;
	return sh64_load(&h.claim->state) == st ? 0 : -EAGAIN;
}

int
lh_lease_info(struct lh *lh, const struct lh_lease *lease,
    struct lh_lease_info *info)
{
	struct lh_lease_info found = { 0 };
	int error = -EAGAIN;

	if (info == NULL || info->size < sizeof(info->size))
		return lhi_fail(-EINVAL, "info->size is to be set to "
		    "sizeof(struct lh_lease_info)");
	for (int i = 0; error == -EAGAIN && i < LOOKS; i++)
		error = read_info(lh, lease, &found);
	if (error == -EAGAIN)
		return lhi_fail(-EAGAIN, "the lease is extended so often that "
		    "it cannot be read");
	if (error != 0)
		return error;
	found.size = info->size;
	found.mode = lease->mode;
	found.notes = lease->notes;
	found.token = lease->token;
	memcpy(info, &found, found.size < sizeof(found) ? found.size :
	    sizeof(found));
	return 0;
}
