/* SPDX-License-Identifier: MIT */
/*
 * The scenario of a wait that a signal handler jumps out of
 * (op/acquire_left.c): see scenario.h.
 *
 * The jump is made before the operation.  The operation is the thread's next
 * acquire, of another key, which takes the place in the queue back.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
#include "crash/subject.h"

static sigjmp_buf out;
static pthread_t waiter;

static void
jump(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

/* Sends the signal once the main thread sleeps in its wait. */
static void *
disturb(void *unused)
{
	(void)unused;
	while (!trial_asleep(getpid()))
		trial_nap_us(100);
	trial_nap_us(1000);
	(void)pthread_kill(waiter, SIGUSR2);
	return NULL;
}

static void
prep_jumped(struct trial *p)
{
	struct lh_acquire_opts o = participant_opts(p->ttl_ms, 20000);
	struct sigaction act = { .sa_handler = jump };
	struct lh_lease lease;
	pthread_t thread;

	prep_warm(p);
	waiter = pthread_self();
	if (sigaction(SIGUSR2, &act, NULL) != 0 ||
	    pthread_create(&thread, NULL, disturb, NULL) != 0)
		blame(p, "staging: no signal, or no thread");
	if (sigsetjmp(out, 1) == 0) {
		(void)lh_acquire(sub.lh, KEY, &o, &lease);
		blame(p, "staging: the wait has ended by itself");
	}
	(void)pthread_join(thread, NULL);
}

static int
count_waiters(const struct lh_key_info *k, void *arg)
{
	*(uint32_t *)arg = k->n_waiters;
	return 0;
}

/* The slow way, because of the note for others. */
static void
act_acquire_other(struct trial *p)
{
	struct lh_acquire_opts o = participant_opts(p->ttl_ms, 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	uint32_t n = 0;

	more.info = "jumped";
	o.more = &more;
	p->result = lh_acquire(sub.lh, THIRD, &o, &p->lease);
	p->has_lease = p->result == 0;
	if (lh_status(sub.lh, KEY, NULL, count_waiters, &n) == 0 && n != 0)
		blame(p, "%u wait, after a jump and an acquire", n);
}

static const struct scenario scenarios_jump[] = {
	{ .name = "acquire-after-jump", .what = "the thread has jumped out of "
	  "a wait for another key", .roles = { HOLDER }, .flags = SC_FIFO,
	  .prepare = prep_jumped, .act = act_acquire_other,
	  .finish = finish_alone },
};

SCENARIOS(scenarios_jump)
