/* SPDX-License-Identifier: MIT */
/* Process-wide lock and what fork means: see attachment.h. */
#include <errno.h>
#include <pthread.h>
#include <urcu-bp.h>
#include "base/error.h"
#include "proc/attachment.h"
#include "proc/claim_cache.h"

static pthread_mutex_t proc_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t cancel_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int proc_state, cancel_state;	/* of whoever holds each of them */

/* A thread that is cancelled in here would take the lock with it. */
static void
lock(pthread_mutex_t *mutex, int *kept)
{
	int state;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	(void)pthread_mutex_lock(mutex);
	*kept = state;
}

static void
unlock(pthread_mutex_t *mutex, const int *kept)
{
	int state = *kept;

	(void)pthread_mutex_unlock(mutex);
	(void)pthread_setcancelstate(state, NULL);
}

void lhi_proc_lock(void) { lock(&proc_mutex, &proc_state); }
void lhi_proc_unlock(void) { unlock(&proc_mutex, &proc_state); }

static uint64_t forks;		/* on the way from the first process to this */

uint64_t lhi_cancel_forks(void) { return forks; }
void lhi_cancel_lock(void) { lock(&cancel_mutex, &cancel_state); }
void lhi_cancel_unlock(void) { unlock(&cancel_mutex, &cancel_state); }

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
begin(void)
{
	(void)pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

void
lhi_proc_begin(void)
{
	(void)pthread_once(&once, begin);
}

int
lhi_own(const struct lh *lh)
{
	if (lh == NULL)
		return lhi_fail(-EINVAL, "no table was given (NULL)");
	if (lh->anchor->tag != lh->tag && !lhi_mutant_on(child_owns))
		return lhi_fail(-EPERM, "this handle belongs to the parent "
		    "process: after fork, open the table again");
	return 0;
}
