/* SPDX-License-Identifier: MIT */
/*
 * Waits that a signal handler jumps out of: answers "what becomes of a place in
 * a queue whose thread will never come back to it?"
 *
 * To leave an acquire by siglongjmp() is not allowed (lease.h), and cannot be
 * noticed when it happens.  What it leaves: a claim in the queue, the count of
 * threads that wait, on which lh_close() depends, and a thread that cannot be
 * cancelled.  Others pass the place over as one of a stopped waiter (C5), but
 * each new one costs them up to 30 ms, and lh_close() is -EBUSY for ever.
 *
 * So a thread that is about to wait notes it in its claim cache (1), before it
 * queues, and takes the note away when it returns (2).  A note that is there
 * when the thread begins another wait or acquires the slow way, closes the
 * table, or exits, is of a wait that it has jumped out of: then its place is
 * taken back.  There is at most one for each thread and attachment.
 *
 *	1 note; then the thread is counted, and says so in the note
 *	... queue, sleep, take or withdraw
 *	2 no note
 *
 * Only the thread itself reads and writes its note, so nothing is ordered.  A
 * wait with a cancellation switch is not noted: the switch's list has an entry
 * on the stack that was left, and may itself have been there.  Nor is one that
 * is an upgrade, or has no thread.  These last until the process ends.
 *
 * A lease that was granted in the moment of the jump stays held until its
 * deadline; only its place in the queue is taken back.
 *
 * A crash anywhere leaves what the crash of a waiter leaves, and a stop a place
 * that others pass over (crash row J1): the note is in memory of the process.
 * A forked child has none (WIPEONFORK).
 */
#include <pthread.h>
#include <string.h>
#include "op/acquire_attempt.h"
#include "proc/claim_cache.h"
#include "shm/counters.h"

static void
take_back(struct lhi_claim_cache *m)
{
	struct lhi_attempt a;
	uint64_t st;

	memset(&a, 0, sizeof(a));
	a.lh = m->lh;
	a.m = m;
	a.c = lhi_claim(&m->lh->v, m->wait.ci);
	a.t.v = &m->lh->v;
	a.t.s = m->wait.slot;
	a.t.ci = m->wait.ci;
	a.t.queued = true;
	m->wait.undo = NULL;
	st = sh64_load(&a.c->state);
	if ((state_st(st) == ST_WAIT || state_held(st)) &&
	    !lhi_mutant_on(jump_left_queued))
		lhi_attempt_leave_queue(&a);
	lhi_point("left.unqueued");
	/* the owner's alone: nobody else changes a waiter's state */
	if (state_st(st) == ST_WAIT) {
		sh64_store(&a.c->state, state_make(ST_FREE, state_seq(st), 0));
		lhi_counters_add(&m->lh->v, STAT_CANCELLED, 1);
		if (a.t.ci - m->base < SHM_GROUP)
			lhi_claim_cache_put(m, (int)(a.t.ci - m->base));
	}
	if (m->wait.counted)
		atomic_fetch_sub(&m->lh->waiting, 1);
	m->wait.counted = false;
	(void)pthread_setcancelstate(m->wait.cancel_state, NULL);
}

void
lhi_attempt_note_wait(struct lhi_attempt *a, int cancel_state)
{
	if (a->ask->cancel != NULL || lhi_mutant_on(jump_unnoted))
		return;
	a->m->wait.slot = a->t.s;
	a->m->wait.ci = a->t.ci;
	a->m->wait.cancel_state = cancel_state;
	a->m->wait.undo = take_back;
}

void
lhi_attempt_note_return(struct lhi_attempt *a)
{
	a->m->wait.undo = NULL;
}
