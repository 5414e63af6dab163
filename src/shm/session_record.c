/* SPDX-License-Identifier: MIT */
/*
 * Sessions: answers "is whoever stands behind this claim gone for ever?", and
 * hands out the records that make it answerable.
 *
 * Layout.  Record i has a state word {st, flags, incarnation} and two bytes far
 * behind the end of the object's file: `live` and `recycle`.  Both are locked
 * through one open file description, pinned by a mapping (prim/bytelock.h): the
 * kernel drops them when the address space ends, however, and at no other time.
 *
 * States of the record (doc/protocol.md has the numbered table):
 *	UNUSED -> RESERVED -> ALIVE -> CLOSING -> UNUSED	by the owner
 *	ALIVE, CLOSING -> DEAD		by anyone with a proof
 *	DEAD, RESERVED -> RESERVED	by whoever holds `recycle`
 *	RESERVED -> NAMED -> DEAD	named sessions: session_named.c
 *
 * Invariants.
 *  I1	Every transition to RESERVED is made holding `recycle`, and `live` is
 *	taken only then (C8): nobody's attempt to recycle can make the dead look
 *	alive, since a prober looks at `live` alone.
 *  I2	`live` is held throughout ALIVE and CLOSING (C9).
 *  I3	The incarnation grows with each RESERVED; a state word never repeats.
 *  I4	A chunk that names (i, inc) as its owner is returned before record i
 *	becomes RESERVED with a larger incarnation.
 *
 * Proof of death.  Load the state, see ALIVE(inc); ask the kernel whether
 * `live` is locked; if not, swap exactly ALIVE(inc) -> DEAD(inc).  The swap
 * succeeds only if the state was ALIVE(inc) all the time, and then by I2 the
 * owner's description was gone when the kernel was asked.  What is uncertain
 * counts as alive: an object that was replaced (another inode's bytes, C10), a
 * descriptor that the application closed under us, an error, a record with
 * SESS_NOPROOF (its self-test at begin failed: no such locks on this system).
 * The probing description never takes a lock: asked through the one that holds
 * it, the answer is always "free".  After a closefrom() its number may be that
 * one's, so "free" is believed only if a description opened for this question
 * says so too.
 *
 * Removal.  One byte before those of the sessions is for who removes the table
 * (shm/table_remove.c).  Where nobody may be attached it takes all of theirs as
 * well, in one call: no record can be had then until the table has no name.
 *
 * A crash or stop of
 *	begin, before ALIVE	the record stays RESERVED; death drops both
 *				bytes, and the next one starts over; a stopped
 *				one costs its record, nothing else
 *	bury (shm/session_reclaim.c)	every step is an exact swap that the
 *				next one repeats; `recycle` makes it one at a
 *				time
 *	end, before UNUSED	CLOSING is provable like ALIVE
 *	end, before unpin	UNUSED with bytes locked: passed over until
 *				they are dropped
 *
 * Not guaranteed: that a death is noticed while a copy of the liveness
 * descriptor is open, or before the kernel has torn down the address space.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include <bsd/string.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/procstat.h"
#include "prim/bytelock.h"
#include "shm/events.h"
#include "shm/session_named.h"
#include "shm/session_record.h"
#include "shm/counters.h"

#define BYTES_OFF (INT64_C(1) << 40)

static off_t live_byte(uint32_t idx) { return BYTES_OFF + 2 * (off_t)idx; }
static off_t recycle_byte(uint32_t idx) { return live_byte(idx) + 1; }

int
lhi_session_lock_removal(int fd)
{
	return lhi_byte_lock(fd, BYTES_OFF - 1);
}

int
lhi_session_visit(int fd)
{
	return lhi_byte_share(fd, BYTES_OFF - 2);
}

void
lhi_session_leave(int fd)
{
	lhi_byte_unlock(fd, BYTES_OFF - 2);
}

int
lhi_session_bar_visits(int fd)
{
	return lhi_byte_lock(fd, BYTES_OFF - 2);
}

void
lhi_session_unlock_removal(int fd)
{
	lhi_byte_unlock(fd, BYTES_OFF - 1);
}

int
lhi_session_lock_shim(int fd)
{
	return lhi_byte_lock(fd, BYTES_OFF - 3);
}

void
lhi_session_unlock_shim(int fd)
{
	lhi_byte_unlock(fd, BYTES_OFF - 3);
}

bool
lhi_session_shim_held(int fd)
{
	return lhi_byte_held(fd, BYTES_OFF - 3) != 0;
}

bool
lhi_session_removal_held(int fd)
{
	return lhi_byte_held(fd, BYTES_OFF - 1) != 0;
}

/* Where death cannot be proved, locks say nothing: then the state does. */
static bool
is_unprovable(const struct lhi_view *v, uint32_t idx)
{
	uint64_t s = sh64_load(&v->sessions[idx].state);

	return (sess_flags(s) & SESS_NOPROOF) &&
	    (sess_st(s) == SESS_ALIVE || sess_st(s) == SESS_CLOSING);
}

int
lhi_session_bar(const struct lhi_view *v, int fd)
{
	int error = lhi_bytes_lock(fd, live_byte(0),
	    2 * (off_t)v->geo.max_sessions);

	for (uint32_t i = 0; error == 0 && i < v->geo.max_sessions; i++)
		if (is_unprovable(v, i))
			error = -EAGAIN;
	return error;
}

bool
lhi_session_held(const struct lhi_view *v, int fd, uint32_t idx)
{
	return lhi_byte_held(fd, live_byte(idx)) != 0 || is_unprovable(v, idx);
}

bool
lhi_session_gone(struct lhi_view *v, uint32_t idx)
{
	int saved = errno, held = 1, cancel, fd, fresh;

	/* nor is a cancelled thread to lose a description */
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	fd = lhi_view_fd(v);
	if (fd >= 0)
		held = lhi_byte_held(fd, live_byte(idx));
	if (held == 0) {
		/* "free" is rare and grave: ask again where we know whom */
		fresh = lhi_view_reopen(v, fd);
		lhi_point("session.probing");
		held = fresh < 0 ? 1 : lhi_byte_held(fresh, live_byte(idx));
		if (fresh >= 0)
			(void)close(fresh);
	}
	(void)pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return held == 0;
}

bool
lhi_session_declare_dead(struct lhi_view *v, uint32_t idx, uint64_t s)
{
	struct shm_session *se = &v->sessions[idx];

	if (!sh64_cas(&se->state, s, sess_make(SESS_DEAD, 0, sess_inc(s))))
		return false;
	lhi_counters_add(v, STAT_DEATHS, 1);
	lhi_event_session(v, LH_LOG_FOUND_DEAD, sid_make(sess_inc(s), idx));
	return true;
}

bool
lhi_session_dead(struct lhi_view *v, uint64_t sid, bool probe)
{
	uint32_t idx = sid_idx(sid);
	struct shm_session *se;
	uint64_t s;

	if (idx >= v->geo.max_sessions)
		return false;
	se = &v->sessions[idx];
	s = sh64_load(&se->state);
	if (sess_inc(s) != sid_inc(sid))
		return sess_inc(s) > sid_inc(sid);	/* I3, I4 */
	switch (sess_st(s)) {
	case SESS_UNUSED:
	case SESS_DEAD:
		return true;
	case SESS_ALIVE:
	case SESS_CLOSING:
		break;
	case SESS_NAMED:
		return lhi_named_dead(v, sid, s, probe);
	default:
		return false;
	}
	if (lhi_mutant_on(closing_unprovable) && sess_st(s) == SESS_CLOSING)
		return false;
	if (!probe || (sess_flags(s) & SESS_NOPROOF) ||
	    !lhi_session_gone(v, idx))
		return false;
	lhi_point("session.proved");
	/* a failed swap means that somebody else has decided: ask the word */
	if (lhi_session_declare_dead(v, idx, s))
		return true;
	s = sh64_load(&se->state);
	return sess_inc(s) > sid_inc(sid) || sess_st(s) == SESS_DEAD;
}

/* Lock a byte, if the number still is our description's: 0, -EAGAIN, -errno. */
static int
lock_byte(const struct lhi_view *v, int fd, off_t byte)
{
	return lhi_view_is(v, fd) ? lhi_byte_lock(fd, byte) : -EBADF;
}

int
lhi_session_lock_recycle(const struct lhi_view *v, int fd, uint32_t idx)
{
	return lock_byte(v, fd, recycle_byte(idx));
}

pid_t
lhi_session_pid(const struct lhi_view *v, uint64_t sid)
{
	uint64_t ours = lhi_procstat_pidns();
	const struct shm_session *se;
	pid_t pid;

	if (sid_idx(sid) >= v->geo.max_sessions || ours == 0)
		return 0;
	se = &v->sessions[sid_idx(sid)];
	pid = (pid_t)sh32_load_rlx(&se->pid);
	return pid > 0 && sh64_load_rlx(&se->pidns_ino) == ours ? pid : 0;
}

static void
describe(const struct lhi_view *v, struct shm_session *se,
    const char *application)
{
	sh32_store_rlx(&se->pid, (uint32_t)getpid());
	sh32_store_rlx(&se->uid, (uint32_t)getuid());
	sh64_store_rlx(&se->pidns_ino, lhi_procstat_pidns());
	sh64_store_rlx(&se->start_ticks, lhi_procstat_start());
	sh64_store_rlx(&se->attached_ns, (uint64_t)lhi_now_ns(v));
	/* only diagnostics: who reads a mixture prints it safely */
	(void)strlcpy(se->application, application, sizeof(se->application));
}

void
lhi_session_unlock_recycle(int fd, uint32_t idx)
{
	lhi_byte_unlock(fd, recycle_byte(idx));
}

/* Make record idx ours.  1 done, 0 not to be had, -errno. */
static int
take(struct lhi_view *v, int fd, uint32_t idx, const char *application,
    uint64_t *sid)
{
	struct shm_session *se = &v->sessions[idx];
	unsigned flags = 0;
	uint64_t inc, s;
	int got = lock_byte(v, fd, lhi_mutant_on(recycler_locks_life) ?
	    live_byte(idx) : recycle_byte(idx));

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
	if (sess_inc(s) != inc || !sh64_cas(&se->state, s,
	    sess_make(SESS_RESERVED, 0, ++inc))) {
		lhi_session_unlock_recycle(fd, idx);
		return 0;
	}
	lhi_point("session.reserved");
	if (lock_byte(v, fd, live_byte(idx)) != 0) {
		/* an old owner that has not been torn down yet */
		lhi_session_unlock_recycle(fd, idx);
		return 0;
	}
	/* self-test: does another description see our lock? */
	got = lhi_view_fd(v);
	if (got < 0 || lhi_byte_held(got, live_byte(idx)) != 1)
		flags |= SESS_NOPROOF;
	lhi_counters_begin(v, idx);
	describe(v, se, application);
	*sid = sid_make(inc, idx);
	lhi_point("session.described");
	sh64_store(&se->state, sess_make(SESS_ALIVE, flags, inc));
	return 1;
}

int
lhi_session_begin(struct lhi_view *v, int fd, const char *application,
    uint64_t *sid, void **pin)
{
	uint32_t n = v->geo.max_sessions;

	/* from here on no closefrom() takes back what fd locks */
	*pin = lhi_byte_pin(fd);
	if (*pin == NULL)
		return lhi_fail(-ENOMEM, "cannot map a page of %s", v->path);
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
			got = take(v, fd, i, application, sid);
			if (got != 0)
				return got < 0 ? got : 0;
		}
	}
	return lhi_fail(-ENOSPC, "all %u sessions of %s are in use by living "
	    "processes: close some, or create a table with more sessions", n,
	    v->path);
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
