/* SPDX-License-Identifier: MIT */
/*
 * A thread that has jumped out of a wait takes its place back when it ends
 * (op/acquire_left.c): nobody waits, and the table can be closed.
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
	ok(t_await_waiters(other, "k", 1), "a thread waits");
	pthread_kill(waiter, SIGUSR1);
	t_join(waiter);
	is(t_waiters(other, "k"), 0, "and has left nothing when it has ended");
	is(lh_close(lh), 0, "so that the table can be closed");
	is(lh_release(other, &held), 0, "the holder releases");
	t_close(other);
	return done();
}
