/* SPDX-License-Identifier: MIT */
/*
 * Explains a key.  It answers the question: who blocks it, and what do those
 * processes do?  Acquires with LH_EXPLAIN and lh_explain() call it.
 *
 * First it takes a consistent snapshot of the key (snapshot.c).  Then it
 * examines each party by itself: whether its thread or process runs, according
 * to /proc, and, for a holder, what its thread waits for in turn
 * (waits_for_thread.c).  These are hints for people: true when they were read,
 * and no decision depends on them.
 *
 * A failing acquire with LH_EXPLAIN takes the snapshot before it leaves the
 * queue, so that the snapshot contains its own place.  The examination costs
 * system calls, so it comes after that and the next waiter need not wait for
 * it.  The thread keeps both results.  Shared memory is written only as by
 * every look at a key: expired and dead holders are freed.
 *
 * A crash or stop here leaves nothing behind, except, before the acquire has
 * left the queue, an ordinary wait.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/freezer.h"
#include "base/procstat.h"
#include "shm/session_liveness.h"
#include "inspect/explain.h"
#include "inspect/waits_for_thread.h"
#include "shm/key_bytes.h"

#define RUNS_MAX 256
#define WAITS_MAX 64
#define BUDGET 1000000		/* claims read for all holders together */

static uint32_t
run_of_state(char state)
{
	switch (state) {
	case 'R':
		return LH_RUN_RUNNING;
	case 'D':
		return LH_RUN_BLOCKED;
	case 'T':
	case 't':
		return LH_RUN_STOPPED;
	case 'Z':
	case 'X':
	case 'x':
		return LH_RUN_DEAD;
	default:
		return LH_RUN_SLEEPING;
	}
}

/* Returns the same, but LH_RUN_FROZEN for a thread that its control group has
 * frozen. */
static uint32_t
run_of_thread(pid_t pid, pid_t tid, char state)
{
	uint32_t run = run_of_state(state);

	return (run == LH_RUN_SLEEPING || run == LH_RUN_BLOCKED) &&
	    lhi_freezer_ask(pid, tid, state) == FROZEN_YES ? LH_RUN_FROZEN :
	    run;
}

/* Returns the state of the party's thread if that exists, otherwise of its
 * process.  Pids are reused, so the process must have the start time in the
 * session's record; if that is not known, the session's sign must be held. */
static uint32_t
run_of_process(struct lhi_view *v, const struct lh_party *p)
{
	uint64_t sid = lhi_view_session_of(v, p->id[0]);
	pid_t pid = lhi_session_pid(v, sid);
	struct shm_session *se = lhi_waits_for_thread_session(v, sid);
	struct lhi_procstat whole, thread;
	int saved = errno;
	bool gone;

	if (pid == 0 || se == NULL || sh64_load(&se->start_ticks) == 0)
		return LH_RUN_UNSEEN;
	if (!lhi_procstat_read(pid, 0, &whole)) {
		gone = kill(pid, 0) != 0 && errno == ESRCH;
		errno = saved;
		return gone ? LH_RUN_DEAD : LH_RUN_UNSEEN;
	}
	if (whole.start_ticks == 0)	/* it waits in the kernel */
		return lhi_session_dead(v, sid, true) ? LH_RUN_UNSEEN :
		    run_of_thread(pid, pid, whole.state);
	if (whole.start_ticks != sh64_load(&se->start_ticks))
		return LH_RUN_DEAD;
	/* a thread that has ended still holds what it acquired */
	if (p->tid != 0 && lhi_procstat_read(pid, (pid_t)p->tid, &thread) &&
	    run_of_state(thread.state) != LH_RUN_DEAD)
		return run_of_thread(pid, (pid_t)p->tid, thread.state);
	return run_of_thread(pid, pid, whole.state);
}

/* Returns how the party runs.  A process that has ended may have passed its
 * sign of life on: then its session lives, with all leases. */
static uint32_t
run_of(struct lhi_view *v, const struct lh_party *p)
{
	uint64_t sid = lhi_view_session_of(v, p->id[0]);
	uint32_t run = run_of_process(v, p);

	return run == LH_RUN_DEAD && (p->flags & LH_PARTY_SESSION) == 0 &&
	    sid_idx(sid) < v->geo.max_sessions &&
	    lhi_session_kept(v, sid_idx(sid)) ? LH_RUN_INHERITED : run;
}

/* Reads the name of the key that claim ci waits for.  Returns false if the
 * claim is not in that use any more. */
static bool
read_wanted_key(struct lhi_view *v, uint32_t ci, uint64_t st, char *name,
    int64_t *since_ns)
{
	struct shm_claim *c = &v->claims[ci];
	uint64_t slot_ref = sh64_load(&c->slot_ref);
	struct shm_slot *s = lhi_slot(v, (uint32_t)slot_ref);

	*since_ns = lhi_claim_since_ns(v, c);
	return s != NULL && lhi_slot_key(v, s, name) != 0 &&
	    sh32_load(&s->gen) == slot_ref >> 32 && sh64_load(&c->state) == st;
}

struct first_wait {
	uint32_t ci;
	uint64_t st;
};

static bool
take_first_wait(struct lhi_view *v, uint32_t ci, uint64_t st, void *arg)
{
	struct first_wait *f = arg;

	(void)v;
	*f = (struct first_wait){ ci, st };
	return false;
}

/* Returns the first wait of a job of the holder, or into its named session; 0
 * if there is none. */
static uint32_t
find_wait_for_sake(struct lhi_view *v, struct lh_party *p, int64_t *budget,
    uint64_t *st)
{
	struct first_wait f = { 0, 0 };
	struct shm_session *se;

	lhi_waits_for_sake(v, lhi_view_session_of(v, p->id[0]), budget,
	    take_first_wait, &f);
	if (f.ci == 0)
		return 0;
	se = lhi_waits_for_thread_session(v, lhi_claim_owner(v, f.ci));
	p->waits_pid = se == NULL ? 0 : sh32_load(&se->pid);
	*st = f.st;
	return f.ci;
}

/* Returns the caller's own wait in the snapshot, or NULL.  That wait has ended
 * by now, but its thread may be among the holders. */
static const struct lh_party *
find_ended_wait(const struct lhi_snapshot *sn)
{
	return sn->mine == 0 || sn->rank == 0 || sn->rank > sn->waiters.n ?
	    NULL : &sn->waiters.p[sn->rank - 1];
}

static void
add_waits(struct lhi_explanation *x)
{
	const struct lh_party *me = find_ended_wait(&x->sn);
	struct lhi_view *v = &x->sn.lh->v;
	uint32_t n = x->sn.holders.n;
	int64_t budget = BUDGET;

	if (n > WAITS_MAX)
		n = WAITS_MAX;
	free(x->waits);
	x->waits = n == 0 ? NULL : calloc(n, sizeof(*x->waits));
	for (uint32_t i = 0; x->waits != NULL && i < n; i++) {
		struct lh_party *p = &x->sn.holders.p[i];
		uint64_t st;
		uint32_t ci = 0;

		if (me != NULL && me->id[0] == p->id[0] && me->tid == p->tid) {
			p->waits_for = x->sn.key;
			p->waits_since_ns = me->since_ns;
			continue;
		}
		p->waits_pid = 0;
		if (p->tid != 0)
			ci = lhi_waits_for_thread(v, lhi_view_session_of(v,
			    p->id[0]), p->tid, &budget, &st);
		if (ci == 0)
			ci = find_wait_for_sake(v, p, &budget, &st);
		if (ci != 0 && read_wanted_key(v, ci, st, x->waits[i].name,
		    &p->waits_since_ns))
			p->waits_for = x->waits[i].name;
		else
			p->waits_since_ns = 0;
	}
}

static void
add_run_states(struct lhi_view *v, struct lhi_crowd *crowd)
{
	for (uint32_t i = 0; i < crowd->n && i < RUNS_MAX; i++)
		crowd->p[i].run = run_of(v, &crowd->p[i]);
}

void
lhi_explain_add_details(struct lhi_explanation *x)
{
	struct lhi_snapshot *sn = &x->sn;

	for (uint32_t i = 0; i < sn->holders.n; i++) {
		struct lh_party *p = &sn->holders.p[i];

		if (p->tid == 0 && (p->flags & LH_PARTY_SESSION) == 0)
			p->flags |= LH_PARTY_SHAREABLE;
	}
	add_run_states(&sn->lh->v, &sn->holders);
	add_run_states(&sn->lh->v, &sn->waiters);
	add_waits(x);
}

void
lhi_explain_drop(void *arg)
{
	struct lhi_explanation *x = arg;

	lhi_snapshot_drop(&x->sn);
	free(x->waits);
	free(x);
}

void
lhi_explain_forget(void)
{
	if (lhi_fail_kept() != NULL)
		(void)lhi_fail_keep(NULL, lhi_explain_drop);
}

void
lhi_explain_failure(struct lh *lh, const struct lhi_ref *ref, uint32_t ci,
    int error)
{
	struct lhi_explanation *x;
	bool told;

	if (error != -EAGAIN && error != -ETIMEDOUT && error != -ECANCELED &&
	    error != -EDEADLK)
		return;
	x = calloc(1, sizeof(*x));
	if (x == NULL)
		return;
	x->sn.lh = lh;
	x->sn.mine = ci;
	/* the sentence already says why the acquire failed */
	lhi_fail_mute(1);
	told = lhi_slot_key(&lh->v, ref->slot, x->sn.key) != 0 &&
	    lhi_snapshot_take(&x->sn, ref->slot) == 0 &&
	    sh32_load(&ref->slot->gen) == ref->slot_ref >> 32;
	lhi_fail_mute(0);
	if (told)
		(void)lhi_fail_keep(x, lhi_explain_drop);
	else
		lhi_explain_drop(x);
}

void
lhi_explain_finish(void)
{
	if (lhi_fail_kept() != NULL)
		lhi_explain_add_details(lhi_fail_kept());
}

struct lhi_explanation *
lhi_explain_last(void)
{
	return lhi_fail_kept();
}
