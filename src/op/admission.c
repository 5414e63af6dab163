/* SPDX-License-Identifier: MIT */
/*
 * Turns.  It answers the question: may this attempt take the free lock, and if
 * not, does the waiter whose turn it is really come?
 *
 * Order is policy, not safety.  The first eligible waiter is the first in the
 * queue that is neither gone nor suspect.  For a reader, readers ahead do not
 * block, so all readers in a row enter together.  A newcomer may overtake the
 * first waiter if it has the higher priority, or if the table's order allows
 * that: always (barge), or until the first waiter starves (bounded).  A reader
 * never overtakes a writer unless the order is barge (guarantee G7).  A reader
 * that waits to upgrade counts as a writer ahead of all others, whatever their
 * priority.
 *
 * If the first waiter does not take a free lock, it is woken again.  What
 * happens then depends on its thread:
 *
 *	dead		removed, on proof
 *	stopped		made suspect at once
 *	not visible	(another pid namespace) made suspect after two looks 3
 *			ms apart
 *	running		made suspect after 30 ms, in case /proc shows another
 *			thread, or its control group has frozen it
 *
 * A writer that waits for readers may stay there.  It is made suspect if it is
 * stopped, not visible, or frozen (base/freezer.h): then at once, and if it is
 * not known whether it is, after 30 ms without an answer to a wake-up.
 *
 * A suspect is only passed over.  It clears the bit when it runs (amendment
 * C5), and has its old place again.
 */
#include <errno.h>
#include <string.h>
#include <leasehold/table.h>
#include "base/clock.h"
#include "base/freezer.h"
#include "base/procstat.h"
#include "shm/session_liveness.h"
#include "op/admission.h"
#include "shm/evict.h"
#include "shm/wait_queue.h"

#define UNSEEN_MS 5			/* looks are 3 ms apart */
#define RUNNING_MS 30

struct thread {
	pid_t pid, tid;
	struct lhi_procstat ps;
};

int
lhi_admission_can_take(struct lhi_admission *t, bool probe)
{
	struct shm_claim *f;
	uint32_t priority;
	int error;

	error = lhi_queue_first(t->v, t->s, t->queued ? t->ci : 0, t->reader,
	    probe, &t->first);
	if (error != 0)
		return error;
	if (t->first == 0 || (t->queued && t->first == t->ci))
		return 1;
	if (t->queued)
		return 0;
	f = &t->v->claims[t->first];
	if (sh32_load(&f->wflags) & WAITER_UPGRADE)
		return t->v->order == LH_ORDER_BARGE;
	priority = sh32_load_rlx(&f->priority);
	if (t->priority != priority)
		return t->priority > priority;
	switch (t->v->order) {
	case LH_ORDER_BARGE:
		return 1;
	case LH_ORDER_BOUNDED:
		return !(lhi_mutant_on(barred_overtakes) ? t->reader :
		    t->shared) && !(sh32_load(&f->wflags) & WAITER_STARVING);
	default:
		return 0;
	}
}

int
lhi_admission_find_first(struct lhi_admission *t, bool probe)
{
	return lhi_queue_first(t->v, t->s, t->ci, false, probe, &t->first);
}

/* Reads what the thread of a claim does.  Returns false if it is not visible.
 * This decides only about order, so a reused pid does no harm. */
static bool
read_thread(struct lhi_view *v, uint32_t ci, struct thread *t)
{
	t->pid = lhi_session_pid(v, lhi_claim_owner(v, ci));
	t->tid = (pid_t)lhi_claim_tid(&v->claims[ci]);
	if (t->tid == 0)
		t->tid = t->pid;	/* it has no thread: WAITER_BELL */
	return t->pid != 0 && lhi_procstat_read(t->pid, t->tid, &t->ps);
}

static bool
is_stopped(const struct thread *t)
{
	return t->ps.state == 'T' || t->ps.state == 't';
}

/* Returns how many ms a writer may be awake without sleeping again. */
static uint32_t
find_patience(struct lhi_view *v, uint32_t ci)
{
	struct thread t;

	if (!read_thread(v, ci, &t))
		return UNSEEN_MS;
	if (is_stopped(&t))
		return 0;
	switch (lhi_freezer_ask(t.pid, t.tid, t.ps.state)) {
	case FROZEN_YES:
		return 0;
	case FROZEN_NO:
		return UINT32_MAX;
	default:
		return RUNNING_MS;
	}
}

bool
lhi_admission_may_run(struct lhi_view *v, uint32_t ci)
{
	uint64_t sid = lhi_claim_owner(v, ci);
	pid_t pid = lhi_session_pid(v, sid);
	pid_t tid = (pid_t)lhi_claim_tid(&v->claims[ci]);
	struct lhi_procstat ps;

	if (lhi_session_dead(v, sid, false))
		return false;
	return pid == 0 || (lhi_procstat_read(pid, tid == 0 ? pid : tid, &ps) &&
	    strchr("TtZX", ps.state) == NULL);
}

/* Mutants only: a first waiter that stays is never passed over. */
static bool
suspects_nobody(void)
{
	return lhi_mutant_on(waits_for_front) ||
	    lhi_mutant_on(waiter_unproved) || lhi_mutant_on(trier_unproved) ||
	    lhi_mutant_on(upgrader_unproved) || lhi_mutant_on(left_stays);
}

bool
lhi_admission_prod_or_suspect(struct lhi_admission *t, uint64_t w, int64_t
    now_ns)
{
	struct thread thread;
	uint32_t idle;
	bool seen;

	/* find the first for readers and writers alike: they must not keep
	 * notes of different waiters in the one place for it */
	if (t->reader && !lhi_mutant_on(first_to_readers) &&
	    lhi_queue_first(t->v, t->s, t->queued ? t->ci : 0,
	    false, false, &t->first) != 0)
		return false;
	if (t->first == 0 || (t->queued && t->first == t->ci))
		return true;
	idle = suspects_nobody() ? 0 :
	    lhi_idle_ms(t->s, w, t->first, now_ns);
	lhi_queue_wake_first(t->v, t->s);
	seen = read_thread(t->v, t->first, &thread);
	if (idle >= RUNNING_MS || (seen ? is_stopped(&thread) :
	    idle >= UNSEEN_MS)) {
		lhi_queue_suspect(t->v, t->s, t->first);
		lhi_point("turn.suspected");
		lhi_queue_wake_first(t->v, t->s);
		return true;
	}
	return false;
}

/* A writer that does not take the lock is not suspicious: it waits for the
 * readers.  A writer that runs answers a wake-up by sleeping again. */
bool
lhi_admission_prod_barrier(struct lhi_admission *t, uint64_t w, int64_t now_ns)
{
	struct shm_claim *f = &t->v->claims[t->first];
	uint32_t patience, idle = suspects_nobody() ? 0 :
	    lhi_idle_ms(t->s, w, t->first, now_ns);
	bool awake = sh32_load_sc(&f->park) == PARK_AWAKE;

	patience = find_patience(t->v, t->first);
	if (patience == 0 || (awake && idle >= patience)) {
		lhi_queue_suspect(t->v, t->s, t->first);
		lhi_point("turn.suspected");
		lhi_queue_wake_first(t->v, t->s);
		return true;
	}
	if (!awake)
		lhi_queue_wake(t->v, f);
	return false;
}

struct place_walk {
	uint32_t ci;
	uint64_t owner;
	struct lhi_queue_place *place;
};

static bool
count_ahead(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct place_walk *p = arg;

	if (ci == p->ci)
		return false;
	p->place->ahead++;
	if (lhi_claim_owner(v, ci) == p->owner)
		p->place->first_of_session = false;
	return true;
}

void
lhi_admission_read_place(struct lhi_admission *t, struct lhi_queue_place *place)
{
	struct place_walk p = { t->ci, lhi_claim_owner(t->v, t->ci), place };

	*place = (struct lhi_queue_place){ .first_of_session = true };
	if (lhi_queue_walk(t->v, t->s, count_ahead, &p) != 0)
		place->first_of_session = true;	/* the queue is changing: keep
						 * watch */
}

static bool
wake_successor(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct place_walk *p = arg;

	if (lhi_claim_owner(v, ci) != p->owner)
		return true;
	lhi_queue_wake(v, &v->claims[ci]);
	return false;
}

void
lhi_admission_hand_over(struct lhi_admission *t)
{
	struct place_walk p = { t->ci, lhi_claim_owner(t->v, t->ci), NULL };

	for (int tries = 0; tries < 16; tries++) {
		if (lhi_queue_walk(t->v, t->s, wake_successor, &p) != -EAGAIN)
			return;
	}
}
