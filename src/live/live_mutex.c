/* SPDX-License-Identifier: MIT */
/*
 * The one mutex of src/live, and the number of forks since it was first used.
 *
 * A thread that were cancelled while it holds the mutex would keep it for ever:
 * so it cannot be cancelled meanwhile.
 *
 * The mutex is held over fork (live_set.c), and the child's epoch is another
 * one: what belongs to the parent's live thread is refused by that.
 */
#include <errno.h>
#include "base/error.h"
#include "live/live_set.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int cancel_state;		/* of whoever holds mutex */

_Atomic uint32_t lhi_live_epoch;

void
lhi_live_lock(void)
{
	int state;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	(void)pthread_mutex_lock(&mutex);
	cancel_state = state;
}

void
lhi_live_unlock(void)
{
	int state = cancel_state;

	(void)pthread_mutex_unlock(&mutex);
	(void)pthread_setcancelstate(state, NULL);
}

void
lhi_live_await(pthread_cond_t *cond)
{
	int state = cancel_state;

	(void)pthread_cond_wait(cond, &mutex);
	cancel_state = state;
}

int
lhi_live_check_epoch(uint32_t epoch)
{
	if (epoch == atomic_load(&lhi_live_epoch))
		return 0;
	if (epoch == LIVE_CLOSED)
		return lhi_fail(-EINVAL, "this handle was closed");
	return lhi_fail(-EPERM, "this live handle belongs to the parent "
	    "process, which renews it: after fork, open the table again");
}
