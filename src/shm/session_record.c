/* SPDX-License-Identifier: MIT */
/*
 * Session records: finds a record for this process, and keeps it from the
 * session's beginning to its end.  session_liveness.c finds out whether the
 * session of a record lives; session_reclaim.c returns what a dead one left;
 * sessions without a process are in session_named.c.
 *
 * Layout.  Record i has a state word {st, flags, incarnation} and two bytes of
 * the live file, `live` and `recycle` (session_bytes.c). Both are locked
 * through one open file description, which the session pins.  The transitions
 * of the state are SN1 to SN9 in doc/protocol.md ("Session").
 *
 * Invariants.
 *  I1	Every transition to RESERVED is made holding `recycle`, and `live` is
 *	taken only then (amendment C8).  So no attempt to recycle a record can
 *	make a dead session look alive, because a prober reads `live` alone.
 *  I2	`live` is held throughout ALIVE and CLOSING (amendment C9).
 *  I3	The incarnation grows with each RESERVED; a state word never repeats.
 *  I4	A chunk that names (i, inc) as its owner is returned before record i
 *	becomes RESERVED with a larger incarnation.
 *
 * A crash or stop of
 *	begin, before ALIVE	the record stays RESERVED; death drops both
 *				bytes, and the next one starts over; a stopped
 *				one costs its record, nothing else
 *	reclamation		every step is an exact swap that the next
 *				process repeats; `recycle` makes it one at a
 *				time
 *	end, before UNUSED	CLOSING is provable like ALIVE
 *	end, before unpin	UNUSED with bytes locked: passed over until
 *				they are dropped
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <bsd/string.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "prim/bytelock.h"
#include "shm/counters.h"
#include "shm/live_file.h"
#include "shm/session_bytes.h"
#include "shm/session_limit.h"
#include "shm/session_liveness.h"
#include "shm/session_reclaim.h"
#include "shm/session_sign.h"
#include "shm/session_record.h"
#include "shm/sign_sweep.h"

#define SWEEP_EVERY 64		/* signs made by sessions of a record */

static void
describe_session(const struct lhi_view *v, struct shm_session *se,
    const char *application)
{
	sh32_store_rlx(&se->pid, (uint32_t)getpid());
	sh32_store_rlx(&se->uid, (uint32_t)getuid());
	sh64_store_rlx(&se->pidns_ino, lhi_process_pid_ns());
	sh64_store_rlx(&se->start_ticks, lhi_process_start_ticks());
	sh64_store_rlx(&se->maker, lhi_session_process_sum(se));
	sh64_store_rlx(&se->attached_ns, (uint64_t)lhi_now_ns(v));
	sh64_store_rlx(&se->outer, 0);
	/* only diagnostics: who reads a mixture prints it safely */
	(void)strlcpy(se->application, application, sizeof(se->application));
}

/* Makes record idx ours. Returns 1: done, 0: not possible, -errno. */
static int
take_record(struct lhi_view *v, int *own, uint32_t idx, const char *application,
    uint64_t *sid, int *sign)
{
	struct shm_session *se = &v->sessions[idx];
	unsigned flags = 0;
	uint64_t inc, s, file;
	int fd = *own, got = lhi_session_lock_byte(v, fd,
	    lhi_mutant_on(recycler_locks_life) ? lhi_session_live_byte(idx)
			  : lhi_session_recycle_byte(idx));

	if (got == -EAGAIN)
		return 0;
	if (got != 0)
		return lhi_fail(got, "cannot lock a byte of %s (error %d)",
		    v->path, -got);
	lhi_point("session.recycling");
	got = lhi_session_reclaim_record(v, idx, &inc);
	if (got != 1) {
		lhi_session_unlock_recycle(fd, idx);
		return got;
	}
	s = sh64_load(&se->state);
	got = sess_inc(s) == inc;
	inc = lhi_session_next_inc(inc);
	if (!got || !sh64_cas(&se->state, s,
	    sess_make(SESS_RESERVED, 0, inc))) {
		lhi_session_unlock_recycle(fd, idx);
		return 0;
	}
	lhi_point("session.reserved");
	if (lhi_session_lock_byte(v, fd, lhi_session_live_byte(idx)) != 0) {
		/* an old owner that has not been torn down yet */
		lhi_session_unlock_recycle(fd, idx);
		return 0;
	}
	/* self-test: does another description see our lock? */
	got = lhi_live_probe_fd(v);
	if (got < 0 || lhi_byte_held(got, lhi_session_live_byte(idx)) != 1)
		flags |= SESS_NOPROOF;
	/* and does the mapping alone keep it? */
	(void)close(fd);
	*own = -1;
	got = flags != 0 ? 0 :
	    lhi_live_probe_keeps(v, lhi_session_live_byte(idx));
	if (got != 0)
		return got;
	lhi_counters_begin(v, idx);
	describe_session(v, se, application);
	*sid = sid_make(inc, idx);
	lhi_sign_begin(v, idx);
	if (sign != NULL) {
		*sign = lhi_sign_make(v, idx, &file);
		if (*sign < 0)
			return *sign;
		lhi_sign_note(se, file);
	}
	lhi_point("session.described");
	sh64_store(&se->state, sess_make(SESS_ALIVE, flags, inc));
	if (sign != NULL && inc % SWEEP_EVERY == 0)
		lhi_sign_sweep_own();
	return 1;
}

int
lhi_session_begin(struct lhi_view *v, int *fd, const char *application,
    uint64_t *sid, void **pin, int *sign)
{
	uint32_t n;
	int error;

	/* from here on no closefrom() unlocks the bytes of fd */
	*pin = lhi_byte_pin(*fd);
	if (*pin == NULL)
		return lhi_fail(errno == EBADF ? -EBADF : -ENOMEM, "cannot "
		    "map the live file of %s: %s", v->path, strerror(errno));
	error = lhi_session_limit(v, *fd, &n);
	if (error != 0)
		return error;
	/* first the ones that are surely free, then those that may be dead */
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < n; i++) {
			unsigned st = sess_st(sh64_load(
			    &v->sessions[i].state));
			bool in_use = st == SESS_ALIVE || st == SESS_CLOSING;
			int got;

			if ((in_use || st == SESS_NAMED) != (pass == 1) ||
			    (in_use && !lhi_session_gone(v, i)))
				continue;
			got = take_record(v, fd, i, application, sid,
			    sign);
			if (got != 0)
				return got < 0 ? got : 0;
		}
	}
	return lhi_session_fail_full(v, n);
}

void
lhi_session_closing(struct lhi_view *v, uint64_t sid)
{
	struct shm_session *se = &v->sessions[sid_idx(sid)];
	uint64_t s = sh64_load(&se->state);

	if (sess_st(s) == SESS_ALIVE && sess_inc(s) == sid_inc(sid))
		(void)sh64_cas(&se->state, s,
		    sess_make(SESS_CLOSING, sess_flags(s), sess_inc(s)));
}

void
lhi_session_end(struct lhi_view *v, uint64_t sid)
{
	struct shm_session *se = &v->sessions[sid_idx(sid)];
	uint64_t s = sh64_load(&se->state);

	if (sess_st(s) == SESS_CLOSING && sess_inc(s) == sid_inc(sid))
		(void)sh64_cas(&se->state, s,
		    sess_make(SESS_UNUSED, 0, sess_inc(s)));
}
