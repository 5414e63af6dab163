/* SPDX-License-Identifier: MIT */
/*
 * Invariant of op/acquire_left.c, issue 21 A14: a signal handler jumps out of
 * an acquire with siglongjmp(). When the thread ends, its place in the queue
 * must be gone, and the table can be closed.
 *
 * Otherwise such a thread would leave a waiter in the queue for as long as its
 * process lives, and lh_close() would fail with -EBUSY.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include "replay.h"

static struct lh *lh;
static __thread sigjmp_buf out;

static void
jump(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

static void *
wait_and_jump(void *unused)
{
	struct lh_lease l;

	(void)unused;
	if (sigsetjmp(out, 1) == 0)
		(void)t_acquire(lh, "k", 1000, REPLAY_LONG_MS, &l);
	return NULL;
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh *other = replay_open(table, 0);
	struct lh_lease held = t_hold(other, "k");
	unsigned long waiter;

	lh = replay_open(table, 0);
	signal(SIGUSR1, jump);
	waiter = t_thread(wait_and_jump, NULL);
	ok(t_await_waiters(other, "k", 1), "a thread is queued");
	pthread_kill(waiter, SIGUSR1);
	t_join(waiter);
	is(t_waiters(other, "k"), 0, "its place is gone when it has ended");
	is(lh_close(lh), 0, "the table can be closed");
	is(lh_release(other, &held), 0, "the holder releases");
	t_close(other);
	return done();
}
