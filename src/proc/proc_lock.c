/* SPDX-License-Identifier: MIT */
/*
 * Process-wide locks.  A thread that holds one cannot be cancelled: it would
 * take the lock with it.  What fork does with them is in attachment.c.
 */
#include <pthread.h>
#include "proc/proc_lock.h"

static pthread_mutex_t proc_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t cancel_mutex = PTHREAD_MUTEX_INITIALIZER;

static int proc_state, cancel_state;	/* of whoever holds each of them */

static void
lock_uncancelled(pthread_mutex_t *mutex, int *kept)
{
	int state;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	(void)pthread_mutex_lock(mutex);
	*kept = state;
}

static void
unlock_uncancelled(pthread_mutex_t *mutex, const int *kept)
{
	int state = *kept;

	(void)pthread_mutex_unlock(mutex);
	(void)pthread_setcancelstate(state, NULL);
}

void lhi_proc_lock(void) { lock_uncancelled(&proc_mutex, &proc_state); }
void lhi_proc_unlock(void) { unlock_uncancelled(&proc_mutex, &proc_state); }
void lhi_cancel_lock(void) { lock_uncancelled(&cancel_mutex, &cancel_state); }

void
lhi_cancel_unlock(void)
{
	unlock_uncancelled(&cancel_mutex, &cancel_state);
}
