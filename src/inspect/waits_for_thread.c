/* SPDX-License-Identifier: MIT */
/*
 * Finds what threads of other processes wait for.  It answers the question:
 * with which claim does that thread wait?  waits_for.c and explain.c call it.
 *
 * Nothing in shared memory leads from a thread to its wait.  But each claim
 * shows its session (of its chunk) and its thread (in `since`), and a thread
 * waits for one thing at a time.  So all claims of the thread's process are
 * searched, in all of its attachments, because a thread may hold in one and
 * wait in another.  (Named sessions have no threads, so nobody waits with a
 * claim of theirs; and no thread waits for a ticket.)
 *
 * A lease may also have to wait for others than its thread:
 *
 *	job	The lease of a `leasehold run` is released when its command has
 *		ended.  A process started by the command says so in its session
 *		(`outer`, proc/outer_run.c) and descends from the run; both are
 *		checked
 *	session	A lease in a named session is released by the processes that use
 *		the session.  A process that waits to acquire another key into
 *		it says so in its wait (claim.grant)
 *
 * Neither is true of every program.  A job may run in the background, and
 * another process may be about to release the session's lease.  A program that
 * knows better waits with LH_NO_DEADLOCK.
 *
 * The answer was true when it was read.  A caller that needs more reads again:
 * the use number in the claim's state shows whether it is the same wait.  All
 * indexes are checked, and the search is bounded (guarantee G12).
 */
#include "inspect/waits_for_thread.h"
#include "base/procstat.h"
#include "shm/session_liveness.h"

#define OUTER_MAX 16	/* nested runs */
#define PARENTS_MAX 256

struct shm_session *
lhi_waits_for_thread_session(const struct lhi_view *v, uint64_t sid)
{
	struct shm_session *se;
	uint64_t s;

	if (sid == 0 || sid_idx(sid) >= v->geo.max_sessions)
		return NULL;
	se = &v->sessions[sid_idx(sid)];
	s = sh64_load(&se->state);
	return sess_inc(s) == sid_inc(sid) && (sess_st(s) == SESS_ALIVE ||
	    sess_st(s) == SESS_CLOSING) ? se : NULL;
}

/* True if the two sessions are known to be attachments of one process. */
static bool
is_same_process(const struct lhi_view *v, uint64_t a, uint64_t b)
{
	struct shm_session *x = lhi_waits_for_thread_session(v, a);
	struct shm_session *y = lhi_waits_for_thread_session(v, b);

	if (x == NULL || y == NULL || x == y)
		return x != NULL && x == y;
	return sh64_load(&x->pidns_ino) != 0 &&
	    sh64_load(&x->start_ticks) != 0 &&
	    sh32_load(&x->pid) == sh32_load(&y->pid) &&
	    sh64_load(&x->pidns_ino) == sh64_load(&y->pidns_ino) &&
	    sh64_load(&x->start_ticks) == sh64_load(&y->start_ticks);
}

uint32_t
lhi_waits_for_thread(struct lhi_view *v, uint64_t sid, uint32_t tid,
    int64_t *budget, uint64_t *st)
{
	uint64_t last = 0, who;
	bool same = false;

	for (uint32_t ch = 1; ch < lhi_chunks_ready(v) && *budget > 0; ch++) {
		struct shm_claim *c = &v->claims[ch * SHM_CHUNK];

		--*budget;
		who = sh64_load(&v->chunks[ch].owner);
		if (who == 0)
			continue;
		if (who != last)
			same = is_same_process(v, who, sid);
		last = who;
		if (!same)
			continue;
		*budget -= SHM_CHUNK;
		for (uint32_t i = 0; i < SHM_CHUNK; i++, c++) {
			*st = sh64_load(&c->state);
			if (state_st(*st) == ST_WAIT &&
			    lhi_claim_tid(c) == tid &&
			    !(sh32_load(&c->wflags) & WAITER_BELL))
				return ch * SHM_CHUNK + i;
		}
	}
	return 0;
}

/* True if a thread of that number holds a lease with a claim of the chunk. */
static bool
has_lease_in(struct lhi_view *v, uint32_t ch, uint32_t tid)
{
	struct shm_claim *c = &v->claims[ch * SHM_CHUNK];

	for (uint32_t i = 0; i < SHM_CHUNK; i++, c++)
		if (state_held(sh64_load(&c->state)) && lhi_claim_tid(c) == tid)
			return true;
	return false;
}

bool
lhi_waits_for_is_needed(struct lhi_view *v, uint32_t ci)
{
	uint64_t sid = lhi_claim_owner(v, ci), last = 0, who;
	struct shm_session *se = lhi_waits_for_thread_session(v, sid);
	uint32_t tid = lhi_claim_tid(&v->claims[ci]);
	bool same = false;

	if (se == NULL || tid == 0 || sh64_load(&se->outer) != 0 ||
	    sh64_load(&v->claims[ci].grant) != 0)
		return true;
	for (uint32_t ch = 1; ch < lhi_chunks_ready(v); ch++) {
		who = sh64_load(&v->chunks[ch].owner);
		if (who == 0)
			continue;
		if (who != last)
			same = is_same_process(v, who, sid);
		last = who;
		if (same && has_lease_in(v, ch, tid))
			return true;
	}
	return false;
}

bool
lhi_waits_for_is_job(const struct lhi_view *v, uint64_t job, uint64_t of)
{
	for (int i = 0; i < OUTER_MAX; i++) {
		struct shm_session *se = lhi_waits_for_thread_session(v, job);

		job = se == NULL ? 0 : sh64_load(&se->outer);
		if (job == 0 || job == of)
			return job != 0;
	}
	return false;
}

bool
lhi_waits_for_descends(const struct lhi_view *v, uint64_t job, uint64_t of)
{
	pid_t pid = lhi_session_pid(v, job), outer = lhi_session_pid(v, of);
	struct lhi_procstat ps;

	for (int i = 0; i < PARENTS_MAX && pid > 1 && outer > 1; i++) {
		if (pid == outer)
			return true;
		if (!lhi_procstat_read(pid, 0, &ps))
			return false;
		pid = ps.parent;
	}
	return false;
}

/* Calls fn with each wait in the chunk that delays session sid: all waits of a
 * job, or those that acquire into a named session.  Returns false if fn did. */
static bool
visit_chunk(struct lhi_view *v, uint32_t ch, uint64_t sid, bool job,
    lhi_wait_fn *fn, void *arg)
{
	for (uint32_t i = 0; i < SHM_CHUNK; i++) {
		uint32_t ci = ch * SHM_CHUNK + i;
		struct shm_claim *c = &v->claims[ci];
		uint64_t st = sh64_load(&c->state);
		uint32_t flags = sh32_load(&c->wflags);

		if (state_st(st) != ST_WAIT || (flags & WAITER_BELL) ||
		    (!job && ((flags & WAITER_UPGRADE) ||
		    sh64_load(&c->grant) != sid)))
			continue;
		if (!fn(v, ci, st, arg))
			return false;
	}
	return true;
}

void
lhi_waits_for_sake(struct lhi_view *v, uint64_t sid, int64_t *budget,
    lhi_wait_fn *fn, void *arg)
{
	bool named = lhi_named_is(v, sid), job = false;
	uint64_t last = 0, who;

	for (uint32_t ch = 1; ch < lhi_chunks_ready(v) && *budget > 0; ch++) {
		--*budget;
		who = sh64_load(&v->chunks[ch].owner);
		if (who == 0 || who == sid)
			continue;
		if (who != last)
			job = !named && lhi_waits_for_is_job(v, who, sid);
		last = who;
		if (!named && !job)
			continue;
		*budget -= SHM_CHUNK;
		lhi_point("deadlock.job_met");
		if (!visit_chunk(v, ch, sid, job, fn, arg))
			return;
	}
}
