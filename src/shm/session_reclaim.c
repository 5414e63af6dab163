/* SPDX-License-Identifier: MIT */
/*
 * Reclamation: gives back the claims and chunks of a dead session.
 *
 * DEAD is all that is needed to free the session's keys, and any process that
 * wants one of them does so (shm/lock_word.c). Here its claims are made free
 * and its chunks ownerless.  The reclaimer holds the record's recycle byte,
 * which the kernel drops when it dies: so there is one at a time, and none for
 * ever.
 *
 * Every step is an exact swap on something that still belongs to the dead
 * session (shm/claim_record.c says what), so that the next reclaimer may repeat
 * it, and goes on.  Readers are marked first, so that one walk of their chain
 * takes out all of them.  A stopped reclaimer keeps 64 claims a chunk from
 * being used again, and no process from any key.
 *
 * A claim of a named session may just be taken by a living process.  While a
 * chunk has such a keeper, it is not reclaimed (shm/session_named.c, I4), and
 * the session's record is not used again.
 *
 * Chunks of earlier incarnations of the record, if there are any, are reclaimed
 * as well: a thread that was getting one while another closed the attachment
 * leaves one behind.
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>
#include "prim/bytelock.h"
#include "shm/claim_record.h"
#include "shm/events.h"
#include "shm/live_file.h"
#include "shm/session_bytes.h"
#include "shm/session_liveness.h"
#include "shm/session_named.h"
#include "shm/session_reclaim.h"
#include "shm/sign_sweep.h"

enum { KEPT = 1 };		/* a chunk cannot be reclaimed now */

/* First pass: marks readers, so that one walk takes out many; then reclaims. */
static int
reclaim_chunk(struct lhi_view *v, uint32_t ch, int pass)
{
	int error = 0;

	for (uint32_t i = 0; i < SHM_CHUNK && error == 0; i++) {
		if (pass == 0)
			lhi_claim_leave_chain(v, ch * SHM_CHUNK + i, true);
		else
			error = lhi_claim_reclaim_dead(v, ch * SHM_CHUNK + i);
	}
	return error;
}

/*
 * Gives back all claims of incarnations of record idx up to `inc`, which is
 * dead; the caller holds its recycle byte.  Idempotent.  Returns 0; KEPT;
 * -EUCLEAN.
 */
static int
reclaim_chunks(struct lhi_view *v, uint32_t idx, uint64_t inc)
{
	bool kept = false;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t ch = 1; ch < lhi_chunks_ready(v); ch++) {
			uint64_t owner = sh64_load(&v->chunks[ch].owner);

			if (owner == 0 || sid_idx(owner) != idx ||
			    sid_inc(owner) > inc)
				continue;
			if (lhi_named_kept(v, ch)) {
				kept = true;
				continue;
			}
			if (lhi_mutant_on(chunk_given_first) && pass == 1)
				(void)sh64_cas(&v->chunks[ch].owner, owner, 0);
			if (reclaim_chunk(v, ch, pass) != 0)
				return -EUCLEAN;
			if (pass == 1)
				(void)sh64_cas(&v->chunks[ch].owner, owner, 0);
		}
	}
	return kept ? KEPT : 0;
}

void
lhi_named_withdraw(struct lhi_view *v, uint32_t idx, uint64_t s)
{
	if (lhi_named_is_pending(s) && !lhi_mutant_on(pending_stays))
		(void)sh64_cas(&v->sessions[idx].state, s,
		    sess_make(SESS_UNUSED, 0, sess_inc(s)));
}

int
lhi_session_reclaim_record(struct lhi_view *v, uint32_t idx, uint64_t *inc)
{
	struct shm_session *se = &v->sessions[idx];
	uint64_t s = sh64_load(&se->state);
	int error;

	switch (sess_st(s)) {
	case SESS_ALIVE:
	case SESS_CLOSING:
		if (sess_marked(s) || !lhi_session_gone(v, idx))
			return 0;
		lhi_point("session.proved");
		if (!lhi_session_declare_dead(v, idx, s) &&
		    sess_st(sh64_load(&se->state)) != SESS_DEAD)
			return 0;
		break;
	case SESS_NAMED:
		lhi_named_withdraw(v, idx, s);
		if (!lhi_session_dead(v, sid_make(sess_inc(s), idx), true))
			return 0;
		break;
	case SESS_UNUSED:
	case SESS_RESERVED:
	case SESS_DEAD:
		if (lhi_mutant_on(reserved_stays) && sess_st(s) ==
		    SESS_RESERVED)
			return 0;
		break;
	default:
		return 0;
	}
	*inc = sess_inc(s);
	error = reclaim_chunks(v, idx, *inc);
	if (error == KEPT)
		return 0;
	if (error == 0 && sess_st(s) >= SESS_ALIVE)
		lhi_event_session(v, LH_LOG_BURIED, sid_make(*inc, idx));
	return error != 0 ? error : 1;
}

bool
lhi_reclaim_fd_open(struct lhi_view *v, struct lhi_reclaim_fd *sp)
{
	bool idle = false;

	/* a thread cancelled in between would keep its turn for ever */
	(void)pthread_setcancelstate(lhi_mutant_on(burier_cancellable) ?
	    PTHREAD_CANCEL_ENABLE : PTHREAD_CANCEL_DISABLE, &sp->cancel);
	sp->kept = NULL;
	sp->pin = NULL;
	sp->fd = lhi_live_file_reopen(v);
	/* without one of our own: the one that was kept, a thread at a time */
	if (sp->fd < 0 && atomic_compare_exchange_strong(&v->reclaiming, &idle,
	    true)) {
		sp->kept = v;
		sp->fd = lhi_live_probe_fd(v);
	}
	if (sp->fd >= 0)
		sp->pin = lhi_byte_pin(sp->fd);
	return sp->pin != NULL;
}

void
lhi_reclaim_fd_close(struct lhi_reclaim_fd *sp)
{
	if (sp->pin != NULL)
		lhi_byte_unpin(sp->pin);
	if (sp->kept != NULL)
		atomic_store(&sp->kept->reclaiming, false);
	else if (sp->fd >= 0)
		(void)close(sp->fd);
	(void)pthread_setcancelstate(sp->cancel, NULL);
}

/*
 * Returns 1: done; 0: it lives, or another process is reclaiming it; -EUCLEAN.
 */
static int
reclaim_record(struct lhi_view *v, const struct lhi_reclaim_fd *sp,
    uint32_t idx)
{
	uint64_t inc;
	int done;

	if (lhi_session_lock_recycle(v, sp->fd, idx) != 0 &&
	    !lhi_mutant_on(burial_unlocked))
		return 0;
	done = lhi_session_reclaim_record(v, idx, &inc);
	if (done == 1)
		lhi_sign_bury(v, idx);
	lhi_session_unlock_recycle(sp->fd, idx);
	return done;
}

int
lhi_session_reclaim(struct lhi_view *v, uint64_t sid)
{
	int saved = errno, done = 0;
	struct lhi_reclaim_fd sp;

	if (sid_idx(sid) >= v->geo.max_sessions)
		return 0;
	if (lhi_reclaim_fd_open(v, &sp))
		done = reclaim_record(v, &sp, sid_idx(sid));
	lhi_reclaim_fd_close(&sp);
	errno = saved;
	return done;
}

unsigned
lhi_session_reclaim_dead(struct lhi_view *v)
{
	int saved = errno;
	unsigned reclaimed = 0;
	struct lhi_reclaim_fd sp;
	bool ready = lhi_reclaim_fd_open(v, &sp);

	for (uint32_t i = 0; ready && i < v->geo.max_sessions; i++) {
		uint64_t s = sh64_load(&v->sessions[i].state);
		bool dead = sess_st(s) == SESS_DEAD ||
		    ((sess_st(s) == SESS_ALIVE || sess_st(s) == SESS_CLOSING)
		    && lhi_session_gone(v, i)) || (sess_st(s) == SESS_NAMED &&
		    lhi_session_dead(v, sid_make(sess_inc(s), i), true));

		if (dead && reclaim_record(v, &sp, i) == 1)
			reclaimed++;
	}
	lhi_reclaim_fd_close(&sp);
	errno = saved;
	return reclaimed;
}
