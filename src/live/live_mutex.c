/* SPDX-License-Identifier: MIT */
/*
 * The one lock of src/live.
 *
 * It is held over fork (live_set.c, proc/fork.c). The child's epoch, the number
 * of forks, differs: objects of the parent's live thread are refused by that.
 */
#include <errno.h>
#include "base/error.h"
#include "live/live_set.h"

struct lhi_lock lhi_live_mutex = LHI_LOCK_INIT;

void lhi_live_lock(void) { lhi_lock_take(&lhi_live_mutex); }
void lhi_live_unlock(void) { lhi_lock_give(&lhi_live_mutex); }
void lhi_live_await(pthread_cond_t *c) { lhi_lock_await(&lhi_live_mutex, c); }

int
lhi_live_check_epoch(uint32_t epoch)
{
	if (epoch == lhi_forks())
		return 0;
	if (epoch == LIVE_CLOSED)
		return lhi_fail(-EINVAL, "this handle was closed");
	return lhi_fail(-EPERM, "this live handle belongs to the parent "
	    "process, which renews it: after fork, open the table again");
}
