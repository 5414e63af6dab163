/* SPDX-License-Identifier: MIT */
/*
 * Turns: answers "may I take the free lock, and if not, is whoever may really
 * coming?"
 *
 * Order is policy, not safety.  The first eligible waiter is the first in the
 * queue that is neither gone nor suspect; for a reader, readers before it are
 * not in the way either, so that all in a row enter together.  A newcomer may
 * go before the first if it has the higher priority, or if the table's order
 * lets it overtake: always (barge), or until the first waiter says that it
 * starves (bounded); a reader never overtakes a writer unless the order is
 * barge (G7).  A reader that waits to upgrade counts as a writer before all
 * others, whatever their priority.
 *
 * A first waiter that does not take a free lock is woken again; a dead one is
 * removed by proof; a stopped one is made suspect as soon as its thread is seen
 * to be stopped; one that cannot be seen (another pid namespace) after two
 * looks 3 ms apart; and one that is seen running after 30 ms, in case what is
 * seen is not it.  Suspicion passes over it, no more: it clears the bit when it
 * runs (C5), and is in its old place again.
 */
#include <errno.h>
#include <leasehold/table.h>
#include "base/clock.h"
#include "base/procstat.h"
#include "shm/session_liveness.h"
#include "op/admission.h"
#include "shm/evict.h"
#include "shm/wait_queue.h"

#define BLIND_MS 5			/* looks are 3 ms apart */
#define RUNNING_MS 30

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

/*
 * Is the thread behind a claim stopped?  1, 0, or -1: cannot be seen.  What is
 * read here decides only about order, so that a recycled pid does no harm.
 */
static int
is_thread_stopped(struct lhi_view *v, uint32_t ci)
{
	pid_t pid = lhi_session_pid(v, lhi_claim_owner(v, ci));
	pid_t tid = (pid_t)lhi_claim_tid(&v->claims[ci]);
	struct lhi_procstat ps;

	if (tid == 0)
		tid = pid;	/* it has none: WAITER_BELL */
	if (pid == 0 || !lhi_procstat_read(pid, tid, &ps))
		return -1;
	return ps.state == 'T' || ps.state == 't';
}

/* Mutants: a first waiter that stays is never passed over. */
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
	int stopped;
	uint32_t idle;

	/* who is the first to all: readers and writers must not keep their
	 * notes of different ones in the one place there is */
	if (t->reader && !lhi_mutant_on(first_to_readers) &&
	    lhi_queue_first(t->v, t->s, t->queued ? t->ci : 0,
	    false, false, &t->first) != 0)
		return false;
	if (t->first == 0 || (t->queued && t->first == t->ci))
		return true;
	idle = suspects_nobody() ? 0 :
	    lhi_idle_ms(t->s, w, t->first, now_ns);
	lhi_queue_wake_first(t->v, t->s);
	stopped = is_thread_stopped(t->v, t->first);
	if (stopped == 1 || (stopped < 0 && idle >= BLIND_MS) ||
	    idle >= RUNNING_MS) {
		lhi_queue_suspect(t->v, t->s, t->first);
		lhi_point("turn.suspected");
		lhi_queue_wake_first(t->v, t->s);
		return true;
	}
	return false;
}

/*
 * That the writer does not take the lock is no sign: it waits for the readers.
 * One that runs answers a wake-up by going to sleep again.
 */
bool
lhi_admission_prod_barrier(struct lhi_admission *t, uint64_t w, int64_t now_ns)
{
	struct shm_claim *f = &t->v->claims[t->first];
	int stopped;
	uint32_t idle = suspects_nobody() ? 0 :
	    lhi_idle_ms(t->s, w, t->first, now_ns);
	bool awake = sh32_load_sc(&f->park) == PARK_AWAKE;

	stopped = is_thread_stopped(t->v, t->first);
	if (stopped == 1 || (stopped < 0 && awake && idle >= BLIND_MS)) {
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
		place->first_of_session = true;	/* moving: be watchful */
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
