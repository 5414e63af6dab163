/* SPDX-License-Identifier: MIT */
/*
 * The thread that serves all live handles of the process (live_renew.c) and
 * their callbacks, tickets (ticket.c), and named sessions that are kept
 * (session_renewal.c). It starts with the first of these and ends when there
 * has been none for some seconds.  It blocks all signals.
 *
 * Callbacks are called without the lock; their events wait in the handle
 * (live_events.c). `calling` is the handle whose callback runs.
 * lh_lock_close() and lh_close() wait for it to end, unless the callback itself
 * calls them; then the handle is freed after it.  A handle whose closer waits
 * is in no list: it cannot be acquired, watched or closed again, by that
 * callback or any thread.
 *
 * Fork.  The thread does not exist in a child.  The lock is held over fork, and
 * the child starts with no handle, no thread, and a new epoch, by which
 * inherited objects are refused.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/handle.h"
#include "live/session_renewal.h"
#include "live/live_set.h"
#include "live/ticket.h"
#include "shm/doorbell.h"

#define LINGER_NS (2 * NS_PER_SEC)
#define RINGS_MAX 1000u		/* before other work gets its turn */
#define BATCH 64		/* callbacks go first at least this often */

TAILQ_HEAD(locks, lh_lock);

static pthread_cond_t called = PTHREAD_COND_INITIALIZER;
static struct locks all = TAILQ_HEAD_INITIALIZER(all);
static struct lh_lock *calling;
static struct lh *calling_for;
static bool running;
static pthread_t thread;

bool lhi_live_by_hand;

static int64_t
now_ns(void)
{
	return lhi_clock_ns(CLOCK_MONOTONIC);
}

static void
forget_parents(bool whole)
{
	lhi_live_forget();
	lhi_wakeup_forget();
	lhi_ticket_forget();
	lhi_session_renewal_forget();
	TAILQ_INIT(&all);
	lhi_live_forget_calls();
	calling = NULL;
	running = false;
	calling_for = NULL;
	called = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

void
lhi_live_begin(void)
{
	static const struct lhi_fork_part part = { &lhi_live_mutex,
	    forget_parents };

	lhi_fork_join(&part);
}

void
lhi_live_add(struct lh_lock *l)
{
	TAILQ_INSERT_TAIL(&all, l, all);
}

static void
free_lock(struct lh_lock *l)
{
	l->epoch = LIVE_CLOSED;
	lhi_live_session_free(l);
	lhi_handle_free(HANDLE_LOCK, l);
}

void
lhi_live_remove(struct lh_lock *l)
{
	bool inside = running && pthread_equal(thread, pthread_self());

	TAILQ_REMOVE(&all, l, all);
	if (TAILQ_EMPTY(&all))
		lhi_wakeup_wake();	/* to linger, and end */
	lhi_live_drop_calls(l);
	l->closed = true;
	if (calling != l) {
		free_lock(l);
		return;
	}
	if (inside) {
		l->epoch = LIVE_CLOSED;
		return;			/* freed after its callback */
	}
	l->closed = false;
	l->closing = true;
	while (calling == l)
		lhi_live_await(&called);
	free_lock(l);
}

/* Calls a callback with the oldest event that it has not seen. */
static void
call_first_event(void)
{
	struct lh_event e;
	struct lh_lock *l = lhi_live_take_call(&e);
	uint32_t epoch = lhi_forks();

	calling = l;
	calling_for = l->lh;
	lhi_live_unlock();
	l->event(l, &e, l->arg);
	lhi_live_lock();
	if (epoch != lhi_forks())
		return;		/* it forked: `calling` is the child's own */
	calling = NULL;
	if (l->closed)
		free_lock(l);
	(void)pthread_cond_broadcast(&called);
}

/* Does something that is due, or a callback. Returns false if there is none. */
static bool
do_one_thing(void)
{
	static uint32_t n;
	uint32_t what, rings = 0;
	struct lh *lh;

	/* further rings come behind the rest */
	while (LHI_WITHIN(rings, RINGS_MAX) &&
	    (what = lhi_wakeup_next_rung(&lh)) != 0) {
		lhi_ticket_wake_rung(lh);
		if (what & BELL_LEASE)
			lhi_live_check_soon();
	}
	if (lhi_session_renewal_serve())
		return true;
	n = (n + 1) % BATCH;
	if (n > 0 && lhi_live_serve())
		return true;
	if (n > 1 && lhi_ticket_serve())
		return true;
	if (!lhi_live_has_call())
		return lhi_live_serve() || lhi_ticket_serve();
	call_first_event();
	return true;
}

/* True if there is no handle, no session to renew, and no ticket that waits or
 * is kept. */
static bool
is_idle(void)
{
	return TAILQ_EMPTY(&all) && !lhi_ticket_has_due() &&
	       !lhi_session_renewal_has_any();
}

/* Returns when something is due. */
static int64_t
next_due_ns(void)
{
	int64_t live = lhi_live_next_ns(), ticket = lhi_ticket_next_ns();
	int64_t keep = lhi_session_renewal_next_ns();

	if (ticket < live)
		live = ticket;
	return keep < live ? keep : live;
}

static void *
run_live_thread(void *arg)
{
	int64_t end_ns = INT64_MAX;	/* of lingering without a handle */
	uint32_t epoch;

	(void)arg;
	lhi_live_lock();
	epoch = lhi_forks();
	/* another epoch: a callback has forked, and this is the child */
	/* ends: when there is no handle and no ticket any more */
	while (epoch == lhi_forks()) {
		if (do_one_thing()) {
			lhi_live_unlock();	/* give other threads their
						 * turn */
			lhi_live_lock();
			continue;
		}
		if (!is_idle())
			end_ns = INT64_MAX;
		else if (end_ns == INT64_MAX)
			end_ns = now_ns() + LINGER_NS;
		else if (end_ns <= now_ns())
			break;
		lhi_wakeup_sleep(is_idle() ? end_ns : next_due_ns());
	}
	if (epoch == lhi_forks())
		running = false;
	lhi_live_unlock();
	return NULL;
}

int
lhi_live_thread(void)
{
	sigset_t every, old;
	pthread_attr_t attr;
	int error;

	if (running || lhi_live_by_hand)
		return 0;
	(void)sigfillset(&every);
	(void)sigdelset(&every, SIGBUS);	/* prim/sigbus.c */
	(void)pthread_sigmask(SIG_SETMASK, &every, &old);
	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attr, run_live_thread, NULL);
	(void)pthread_attr_destroy(&attr);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (error != 0)
		return lhi_fail(-ENOMEM, "cannot start the thread that renews "
		    "leases: %s", strerror(error));
	running = true;
	return 0;
}

void
lhi_live_closing(struct lh *lh)
{
	struct lh_lock *l;

	lhi_live_lock();
	/*
	 * ends: when no callback of lh runs; its handles are not lh's any more
	 */
	for (;;) {
		TAILQ_FOREACH(l, &all, all) {
			if (l->lh != lh)
				continue;
			if (l->status == LH_LOCK_HELD)
				lhi_live_end(l, LH_LOSS_SESSION);
			l->lh = NULL;
		}
		lhi_ticket_closing(lh);
		lhi_session_renewal_closing(lh);
		if (calling == NULL || calling_for != lh ||
		    pthread_equal(thread, pthread_self()))
			break;
		lhi_live_await(&called);	/* it may start more of them */
		if (lhi_mutant_on(ends_once))
			break;
	}
	/* callbacks that come later find it closed, because they would run
	 * beside the rest of lh_close() */
	if (!lhi_mutant_on(closing_handle_used))
		lh->tag = 0;
	lhi_live_unlock();
}
