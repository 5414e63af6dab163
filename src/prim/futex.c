/* SPDX-License-Identifier: MIT */
/*
 * Futexes: see futex.h.
 *
 * Every wait has an absolute deadline, because nothing here may depend on a
 * waker that lives.  Errors of the wait:
 *	EAGAIN		the word had changed already: look again
 *	EINTR		a signal: look again, the deadline is absolute
 *	ETIMEDOUT	look again; the caller knows its own deadlines
 *	EFAULT, EINVAL	a caller's bug or a table unmapped under a thread that
 *			still waits: returning makes it look again, and fail
 * Errors of the wake: EFAULT when the sleeper's table has been unmapped, which
 * means that there is no sleeper.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "prim/futex.h"

void
lhi_futex_wait(shm_u32 *word, uint32_t asleep, int64_t until_ns)
{
	int saved = errno;
	struct timespec ts;

	if (until_ns < 0)
		until_ns = 0;
	ts.tv_sec = until_ns / NS_PER_SEC;
	ts.tv_nsec = until_ns % NS_PER_SEC;
	(void)syscall(SYS_futex, &word->raw, FUTEX_WAIT_BITSET, asleep, &ts,
	    NULL, FUTEX_BITSET_MATCH_ANY);
	errno = saved;
}

void
lhi_futex_wake(shm_u32 *word)
{
	int saved = errno;

	lhi_point("futex.wake");
	(void)syscall(SYS_futex, &word->raw, FUTEX_WAKE, 1, NULL, NULL, 0);
	errno = saved;
}
