/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: pthread_cancel() of a thread that acquires through a live
 * handle, at the point where it must open a descriptor again, leaves the handle
 * free for other threads.
 *
 * Otherwise every later call with that handle would hang.
 */
#include <linux/close_range.h>
#include <pthread.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static void *
cancelled(void *l)
{
	(void)pthread_cancel(pthread_self());
	if (lh_lock_acquire(l, NULL) == 0)
		(void)lh_lock_release(l);
	pthread_testcancel();
	return NULL;
}

/* In a process of its own: it closes what the test's clean-up goes by. */
static int
play(void *table)
{
	struct lh *lh = t_open(table);
	struct lh_lock *l;

	(void)alarm(20);
	is(lh_lock_open(lh, "k", NULL, &l), 0, "a handle");
	is(close_range(3, ~0U, 0), 0, "the application closes all it has");
	ok(t_join(t_thread(cancelled, l)) == PTHREAD_CANCELED,
	    "a thread is cancelled that acquires");
	is(lh_lock_acquire(l, NULL), 0, "another one does: %s",
	    lh_error_detail());
	is(lh_lock_release(l), 0, "and releases");
	is(lh_lock_close(l), 0, "the handle is closed");
	is(lh_close(lh), 0, "and the table");
	return tap_child_status();
}

int
main(void)
{
	const char *table = t_table();
	struct lh *own = t_open(table);

	is(t_reap(t_fork(play, (void *)(uintptr_t)table), T_HANG_MS), 0,
	    "cancelled in lh_lock_acquire()");
	t_close(own);
	return done();
}
