/* SPDX-License-Identifier: MIT */
/*
 * Undoes waits that a signal handler has left with siglongjmp().
 * acquire_wait.c notes each wait here.
 *
 * Leaving an acquire in this way is forbidden (lease.h), but cannot be noticed
 * when it happens.  It leaves a claim in the queue, the count of waiting
 * threads, on which lh_close() depends, and a thread that cannot be cancelled.
 * Other processes pass the place over like that of a stopped waiter (repair
 * C5).  But each new one costs them up to 30 ms, and lh_close() returns -EBUSY
 * for ever.
 *
 * So a thread notes a wait in its claim cache before it queues, and removes the
 * note when it returns.  If the note is still there when the thread begins
 * another wait, acquires on the slow path, closes the table or exits, the
 * thread has jumped out of that wait.  Then its place is removed from the
 * queue.  There is at most one note for each thread and attachment.
 *
 * 1. Write the note; the thread is then counted as waiting, and the note says
 *    so.
 * 2. Queue, sleep, take or withdraw.
 * 3. Remove the note.
 *
 * Only the thread itself reads and writes its note, so no order is needed.  A
 * wait with a cancellation switch is not noted: the switch's list has an entry
 * on the stack that was left, and may itself have been there.  An upgrade, and
 * a wait without a thread, are not noted either.  Such waits last until the
 * process ends.
 *
 * A lease that was granted at the moment of the jump stays held until its
 * deadline; only its place in the queue is removed.
 *
 * A crash anywhere leaves what the crash of a waiter leaves (crash rows W1 and
 * following), because the note is in private memory.  A forked child has no
 * note (the memory is cleared).
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
	lhi_process_watch_end(&m->wait.watch);
	st = sh64_load(&a.c->state);
	if ((state_st(st) == ST_WAIT || state_held(st)) &&
	    !lhi_mutant_on(jump_left_queued))
		lhi_attempt_leave_queue(&a);
	lhi_point("left.unqueued");
	/* only the owner changes the state of a waiting claim */
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
	lhi_death_hint_drop(&a->hint);
	a->m->wait.undo = NULL;
}
