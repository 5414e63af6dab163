/* SPDX-License-Identifier: MIT */
/* What fork means for attachments, and whose a handle is: see attachment.h. */
#include <errno.h>
#include <pthread.h>
#include <urcu-bp.h>
#include "base/error.h"
#include "proc/attachment.h"
#include "proc/claim_cache.h"
#include "shm/damaged.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;

struct lh lhi_closed_lh;

static uint64_t forks;		/* on the way from the first process to this */

uint64_t lhi_cancel_forks(void) { return forks; }

static void
before_fork(void)
{
	lhi_proc_lock();
	lhi_cancel_lock();
	urcu_bp_before_fork();
}

static void
after_fork_parent(void)
{
	urcu_bp_after_fork_parent();
	lhi_cancel_unlock();
	lhi_proc_unlock();
}

static void
after_fork_child(void)
{
	urcu_bp_after_fork_child();
	lhi_claim_cache_child();
	forks++;
	lhi_cancel_unlock();
	lhi_proc_unlock();
}

static void
register_fork_handlers(void)
{
	(void)pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

void
lhi_proc_begin(void)
{
	(void)pthread_once(&once, register_fork_handlers);
}

int
lhi_own_handle(const struct lh *lh)
{
	if (lh == NULL)
		return lhi_fail(-EINVAL, "no table was given (NULL)");
	if (lh->tag == 0)
		return lhi_fail(-EINVAL, "this handle, or the table it was "
		    "opened in, was closed");
	if (lh->anchor->tag != lh->tag && !lhi_mutant_on(child_owns))
		return lhi_fail(-EPERM, "this handle belongs to the parent "
		    "process: after fork, open the table again");
	return 0;
}

int
lhi_own(struct lh *lh)
{
	int error = lhi_own_handle(lh);

	return error != 0 ? error : lhi_damaged_or(&lh->v, 0);
}
