/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: pthread_cancel() of a thread that is inside lh_cancel(), where
 * it wakes a wait for the cluster through a descriptor, leaves the lock of all
 * switches free.
 *
 * Otherwise every later lh_cancel() of the process would hang.
 */
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "op/acquire.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static struct lh_cancel c = LH_CANCEL_INIT;

static void *
cancelled(void *arg)
{
	(void)arg;
	(void)pthread_cancel(pthread_self());
	(void)lh_cancel(&c);
	pthread_testcancel();
	return NULL;
}

int
main(void)
{
	struct lhi_canceller me;
	int fd = eventfd(0, EFD_CLOEXEC);

	(void)alarm(10);
	lhi_cancel_join_fd(&c, &me, fd);
	ok(t_join(t_thread(cancelled, NULL)) == PTHREAD_CANCELED,
	    "a thread is cancelled that calls lh_cancel()");
	lhi_cancel_leave(&c, &me);
	pass("others use their switches after it");
	(void)close(fd);
	return done();
}
