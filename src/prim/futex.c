/* SPDX-License-Identifier: MIT */
/*
 * Futexes: see futex.h.
 *
 * Every wait has an absolute deadline, because nothing may depend on a waker
 * that is alive.  Errors of a wait:
 *
 *	EAGAIN		the word has changed already: check again
 *	EINTR		a signal: check again; the deadline is absolute
 *	ETIMEDOUT	check again; the caller knows its own deadlines
 *	EFAULT, EINVAL	a caller's bug, or a table that was unmapped while a
 *			thread waits: the thread returns, checks again and fails
 *
 * A wake fails with EFAULT if the sleeper's table was unmapped; then there is
 * no sleeper.
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
lhi_futex_wait_any(const struct lhi_futex *on, uint32_t n, int64_t until_ns)
{
	struct futex_waitv w[FUTEX_ANY_MAX];
	struct timespec ts;
	int saved = errno;

	if (until_ns < 0)
		until_ns = 0;
	ts.tv_sec = until_ns / NS_PER_SEC;
	ts.tv_nsec = until_ns % NS_PER_SEC;
	for (uint32_t i = 0; i < n; i++)
		w[i] = (struct futex_waitv){ .val = on[i].asleep,
		    .uaddr = (uintptr_t)&on[i].word->raw, .flags = FUTEX_32 };
	(void)syscall(SYS_futex_waitv, w, n, 0, &ts, CLOCK_MONOTONIC);
	errno = saved;
}

bool
lhi_futex_any_works(void)
{
	static _Atomic int known;	/* 0: unknown, 1: supported, 2: not */
	int saved = errno, k = known;

	/* no words: EINVAL if the kernel knows the call.  Anything else comes
	 * from an older kernel or a filter, and waits would return at once. */
	if (k == 0) {
		k = syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) != 0 &&
		    errno == EINVAL ? 1 : 2;
		known = k;
	}
	errno = saved;
	return k == 1;
}

static void
wake_some(shm_u32 *word, int n)
{
	int saved = errno;

	(void)syscall(SYS_futex, &word->raw, FUTEX_WAKE, n, NULL, NULL, 0);
	errno = saved;
}

void
lhi_futex_wake(shm_u32 *word)
{
	lhi_point("futex.wake");
	wake_some(word, 1);
}

void
lhi_futex_wake_two(shm_u32 *word)
{
	lhi_point("futex.wake_two");
	wake_some(word, 2);
}
