/* SPDX-License-Identifier: MIT */
/*
 * lh_mark_consistent(): the holder of a key declares that the guarded resource
 * has been repaired.  (The note: shm/consistency.c.)
 *
 * It counts only if the lease lives after the swap (amendment C11): a late one
 * is swapped back.  A later holder that has found the note meanwhile has
 * written its own, so neither swap can be of that one.
 */
#include <errno.h>
#include "base/error.h"
#include "op/lease_check.h"
#include "shm/consistency.h"

int
lh_mark_consistent(struct lh *lh, struct lh_lease *l)
{
	struct lhi_held h;
	uint32_t is, to;
	int error = lhi_lease_check(lh, l, &h);

	if (error == -EALREADY)
		return lhi_fail(-ESTALE, "this lease was released");
	if (error != 0)
		return error;
	if (h.shared)
		return lhi_fail(-EINVAL, "a reader cannot declare the resource "
		    "consistent: acquire the key exclusively");
	/* before the lease is seen to be held: a later holder writes it */
	is = sh32_load(&h.slot->consistency);
	error = lhi_lease_verify_moving(lh, l, &h);
	if (error != 0)
		return error;
	if (!lhi_consistency_marked(is, l->token, &to))
		return lhi_fail(-EINVAL, "no holder has left this key without "
		    "a release: there is nothing to declare");
	lhi_point("consistency.marking");
	if (!sh32_cas(&h.slot->consistency, is, to)) {		/* CN4 */
		error = lhi_lease_verify_moving(lh, l, &h);
		return error != 0 ? error : lhi_fail(-EAGAIN, "the key's note "
		    "has changed at this moment: do several threads use the "
		    "lease? Try again");
	}
	lhi_point("consistency.marked");
	error = lhi_lease_verify_moving(lh, l, &h);
	if (error != 0 && !lhi_mutant_on(marked_too_late))
		(void)sh32_cas(&h.slot->consistency, to, is);
	if (error == 0)
		l->notes &= ~LH_NOTE_INCONSISTENT;
	return error;
}
