/* SPDX-License-Identifier: MIT */
/*
 * What other processes' threads wait for: answers "with which claim does that
 * thread wait?".
 *
 * Nothing in shared memory leads from a thread to its wait; but each claim says
 * whose it is (its chunk's session) and which thread's (in `since`), and a
 * thread waits for one thing at a time.  So the claims of its process are
 * searched: all attachments of it, since a thread may hold in one and wait in
 * another.  (Named sessions have no threads: nobody waits with a claim of
 * theirs; and no thread waits for a ticket.)
 *
 * The answer was true when it was read.  Who needs more looks again: the number
 * of its use in the claim's state says whether it is the same wait.  All
 * indexes are checked, and the search is bounded (G12).
 */
#include "inspect/waits_for_thread.h"

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

/* True if the two sessions are attachments of one process. */
static bool
is_same_process(const struct lhi_view *v, uint64_t a, uint64_t b)
{
	struct shm_session *x = lhi_waits_for_thread_session(v, a);
	struct shm_session *y = lhi_waits_for_thread_session(v, b);

	if (x == NULL || y == NULL || x == y)
		return x != NULL && x == y;
	return sh32_load(&x->pid) == sh32_load(&y->pid) &&
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
