/* SPDX-License-Identifier: MIT */
/*
 * Issue 21 A14: a signal handler that jumps out of a waiting acquire, which is
 * not allowed, leaves a place in a queue.  The thread removes it in its next
 * acquire, in lh_close(), or when it ends; until then others pass it over.  A
 * thread that is cancelled asynchronously leaves none.
 *
 * Otherwise such places would stay until the process ends, and delay everybody
 * behind them.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define N 10

static struct lh *lh;
static __thread sigjmp_buf out;
static struct t_event jumped, go_on;
static int jumps, told, cancels;

static void
jump(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

/* Until a signal comes; true if it was left by the jump. */
static bool
wait_and_jump(void)
{
	struct lh_lease l;

	if (sigsetjmp(out, 1) != 0)
		return true;
	(void)t_acquire(lh, "held", 60000, 600000, &l);
	return false;
}

static void *
jump_and_acquire(void *unused)
{
	struct lh_lease l;
	int state;

	(void)unused;
	if (wait_and_jump())
		__atomic_fetch_add(&jumps, 1, __ATOMIC_SEQ_CST);
	t_post(&jumped);
	(void)t_await(&go_on, 1, T_HANG_MS);
	/* the place that it left hinders nobody */
	if (t_acquire(lh, "held", 60000, 1, &l) == -ETIMEDOUT)
		__atomic_fetch_add(&told, 1, __ATOMIC_SEQ_CST);
	(void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
	if (state == PTHREAD_CANCEL_ENABLE)
		__atomic_fetch_add(&cancels, 1, __ATOMIC_SEQ_CST);
	t_post(&jumped);
	(void)t_await(&go_on, 2, T_HANG_MS);
	return NULL;
}

static void *
jump_and_end(void *unused)
{
	(void)unused;
	(void)wait_and_jump();
	return NULL;
}

static void *
wait_async(void *unused)
{
	struct lh_lease l;
	int was;

	(void)unused;
	(void)pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &was);
	(void)t_acquire(lh, "held", 60000, t_ms(300), &l);
	return NULL;
}

static void
begin(struct lh *own, unsigned long *t, t_thread_fn *fn)
{
	for (int i = 0; i < N; i++)
		t[i] = t_thread(fn, NULL);
	ok(t_await_waiters(own, "held", N), "%d threads wait", N);
}

static void
signal_all(const unsigned long *t)
{
	for (int i = 0; i < N; i++)
		pthread_kill(t[i], SIGUSR1);
}

static void
join_all(const unsigned long *t)
{
	for (int i = 0; i < N; i++)
		t_join(t[i]);
}

static void
next_call(struct lh *own, struct lh_lease *held)
{
	int before = t_descriptors();
	unsigned long t[N];
	struct lh_lease l;

	begin(own, t, jump_and_acquire);
	for (int i = 0; i < 5; i++)	/* the first one watches the holder */
		t_nap();
	signal_all(t);
	ok(t_await(&jumped, N, T_HANG_MS), "they jump out");
	is(jumps, N, "all of them");
	is(lh_release(own, held), 0, "released");
	is(t_acquire(own, "held", 60000, T3_DEAD_MS + N * 30, &l), 0,
	    "their places are passed over");
	*held = l;
	t_post(&go_on);
	ok(t_await(&jumped, 2 * N, T_HANG_MS), "they acquire again");
	is(told, N, "and wait as usual");
	is(cancels, N, "and can be cancelled as before");
	is(t_waiters(own, "held"), 0, "nobody waits any more");
	is(t_descriptors(), before, "nothing is left open");
	t_post(&go_on);
	join_all(t);
}

static void
ends(struct lh *own)
{
	unsigned long t[N];

	begin(own, t, jump_and_end);
	signal_all(t);
	join_all(t);
	is(t_waiters(own, "held"), 0, "threads that end leave none");

	begin(own, t, wait_async);
	for (int i = 0; i < N; i++)
		pthread_cancel(t[i]);
	join_all(t);
	is(t_waiters(own, "held"), 0, "nor do cancelled ones");
}

static void *
signal_main(void *waiter)
{
	(void)t_await_waiters(lh, "held", 1);
	pthread_kill(*(pthread_t *)waiter, SIGUSR1);
	return NULL;
}

int
main(void)
{
	const char *table = t_table();
	pthread_t self = pthread_self();
	struct lh *own = t_open(table);
	struct lh_lease held = t_hold(own, "held");
	unsigned long helper;

	lh = t_open(table);
	signal(SIGUSR1, jump);
	next_call(own, &held);
	ends(own);
	helper = t_thread(signal_main, &self);
	ok(wait_and_jump(), "this thread jumps out as well");
	t_join(helper);
	is(lh_close(lh), 0, "and closes");
	is(t_waiters(own, "held"), 0, "which leaves none");
	t_close(own);
	return done();
}
