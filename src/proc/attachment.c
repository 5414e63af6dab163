/* SPDX-License-Identifier: MIT */
/* Checks that a handle belongs to this process: see attachment.h. */
#include <errno.h>
#include "base/error.h"
#include "prim/robust_list.h"
#include "proc/attachment.h"
#include "proc/claim_cache.h"
#include "proc/map.h"
#include "shm/damaged.h"

struct lh lhi_closed_lh;

/* In a child: mappings, and entries of robust lists. */
static void
forget_mappings(bool whole)
{
	lhi_map_child(whole);
	lhi_robust_child();
}

int
lhi_proc_begin(void)
{
	static const struct lhi_fork_part caches = { .child =
	    lhi_claim_cache_child }, mappings = { .child = forget_mappings };
	int error = lhi_process_begin();

	if (error == 0) {
		lhi_fork_join(&caches);
		lhi_fork_join(&mappings);
	}
	return error;
}

/* In one piece, because each slow call asks first. */
static inline int
check_handle(const struct lh *lh)
{
	if (lh == NULL)
		return lhi_fail(-EINVAL, "no table was given (NULL)");
	if (lh->tag == 0)
		return lhi_fail(-EINVAL, "this handle, or the table in which "
		    "it was opened, was closed");
	if (lh->anchor->tag != lh->tag && !lhi_mutant_on(child_owns))
		return lhi_fail(-EPERM, "this handle belongs to the parent "
		    "process; after fork, open the table again");
	return 0;
}

int
lhi_own_handle(const struct lh *lh)
{
	return check_handle(lh);
}

int
lhi_own_to_look(struct lh *lh)
{
	int error = check_handle(lh);

	return error != 0 ? error : lhi_damaged_or(&lh->v, 0);
}

int
lhi_own(struct lh *lh)
{
	int error = check_handle(lh);

	if (error != 0)
		return error;
	if (lh->v.me == NULL)
		return lhi_fail(-EOPNOTSUPP, "%s was opened without a session "
		    "(LH_LOOK); open it without that flag", lh->v.path);
	return lhi_damaged_or(&lh->v, 0);
}
