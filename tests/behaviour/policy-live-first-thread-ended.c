/* SPDX-License-Identifier: MIT */
/* test: slow 4 */
/*
 * Guarantee G3, issue 21 A11, policy live: a holder whose first thread has
 * ended while others run is running, although /proc shows the process as a
 * zombie.  Its lease is moved on; when all its threads are stopped, the lease
 * ends.
 *
 * Otherwise a working holder would lose its lease at the deadline.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define TRIES 3

static const char *table;
static struct t_event *held;
static int64_t ttl_ms;

static void *
hold_on(void *arg)
{
	struct lh_acquire_more live = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(ttl_ms, 0);
	struct lh *lh = t_open(table);
	struct lh_lease l;

	(void)arg;
	live.policy = LH_POLICY_LIVE;
	o.more = &live;
	if (lh_acquire(lh, "k", &o, &l) != 0)
		bail_out("the child cannot acquire: %s", lh_error_detail());
	t_sleep_ms(100);	/* the first thread has ended by then */
	t_post(held);
	for (;;)
		(void)pause();
	return NULL;
}

static int
end_first_thread(void *arg)
{
	pthread_t thread;

	(void)arg;
	if (pthread_create(&thread, NULL, hold_on, NULL) != 0)
		return 1;
	pthread_exit(NULL);
}

/* A waiter that is late itself lets the lease end rightly: a longer ttl
 * then. */
static bool
is_kept(void *arg)
{
	struct lh *lh = arg;
	struct lh_lease l;
	bool kept;
	pid_t pid;

	ttl_ms = ttl_ms == 0 ? t_ms(800) : 2 * ttl_ms;
	held = t_shared(sizeof(*held));
	pid = t_fork(end_first_thread, NULL);
	if (!t_await(held, 1, T_HANG_MS))
		bail_out("the child does not get the key");
	kept = t_acquire(lh, "k", 1000, 5 * ttl_ms / 2, &l) == -ETIMEDOUT;
	if (kept) {
		(void)kill(pid, SIGSTOP);
		is(t_acquire(lh, "k", 1000, T_HANG_MS, &l), 0,
		    "stopped, it loses the key");
		is(l.notes, LH_NOTE_PREVIOUS_EXPIRED, "at its deadline");
	}
	t_kill(pid);
	(void)lh_release(lh, &l);
	return kept;
}

int
main(void)
{
	struct lh *lh;

	table = t_table();
	lh = t_open(table);
	ok(t_tries(TRIES, is_kept, lh), "who waits sees that the holder runs");
	t_close(lh);
	return done();
}
