/* SPDX-License-Identifier: MIT */
/*
 * Liveness: whether the session behind a claim is gone for ever.
 *
 * A session of a process is alive while its address space holds the `live` byte
 * of its record (session_bytes.c). A named session has no process: it is alive
 * until the moment in its word `until`, and while its maker is
 * (session_named.c), or the process that it is bound to (session_bound.c).
 * Either is DEAD once its record says so.
 *
 * Proof of death.  Load the state, see ALIVE(inc); ask the kernel whether
 * `live` is locked; if not, swap exactly ALIVE(inc) -> DEAD(inc). The swap
 * succeeds only if the state was ALIVE(inc) all the time.  `live` is held
 * throughout (session_record.c, I2), so the owner's description was gone when
 * the kernel was asked.  An uncertain answer counts as alive: a file that was
 * replaced (another inode's bytes, amendment C10), a descriptor that the
 * application closed, an error, a record with SESS_NOPROOF (its self-test at
 * begin failed: no such locks on this system). The probe asks (live_probe.c),
 * and "free" is believed only if the descriptor still is the probe afterwards.
 *
 * Earlier proof.  The byte is held until the kernel has torn down the memory,
 * which takes 50 to 110 ms for a GiB.  So when the session's death word is
 * marked (proc/death_word.c), the process is asked as well.  That none of its
 * threads has memory any more is a proof, too (prim/process_end.c), with the
 * same swap after it.  pid and start time were written before ALIVE(inc), so
 * they are that session's.  Nothing is concluded from the word.  In doubt the
 * byte decides: the process is in another pid namespace, or may not be looked
 * at.  A waiter that watches the process (op/death_hint.c) asks that first, and
 * the byte afterwards, because a byte whose process has just died is held.
 *
 * A byte that another process has locked.  A member can lock any byte, and one
 * that waits for a byte (F_OFD_SETLKW) gets it when its holder dies.  So where
 * the byte is held, the kernel is asked for the process as well.  If our pid
 * namespace has no process of that number, none of its threads can run.  Then
 * only the second sign is left to ask.  The number counts if it agrees with its
 * sum, so that one changed bit proves nothing.  In another pid namespace, and
 * while the dead process is a zombie, such a session counts as alive.
 *
 * End of a named session.  Load `until`, see the clock past it (or its maker
 * gone), swap exactly that value for how it ended; then the state to DEAD. Each
 * is one swap, and the next process that asks repeats the second, so a crash in
 * between delays nothing.
 *
 * A second sign (session_sign.h) is promised for what the process's children do
 * with the lease.  So where it is, the process must have come to its end, too:
 * its children get their signal then, after its descriptors were closed.
 *
 * Not guaranteed: that a death is noticed while a copy of the liveness
 * descriptor is open; or, without the earlier proof, before the kernel has torn
 * down the address space.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/process.h"
#include "base/procstat.h"
#include "base/procstatus.h"
#include "prim/bytelock.h"
#include "prim/robust_list.h"
#include "shm/damaged.h"
#include "shm/counters.h"
#include "shm/events.h"
#include "shm/live_file.h"
#include "shm/session_bound.h"
#include "shm/session_bytes.h"
#include "shm/session_liveness.h"
#include "shm/session_sign.h"

bool
lhi_named_is(const struct lhi_view *v, uint64_t sid)
{
	uint64_t s;

	if (sid_idx(sid) >= v->geo.max_sessions)
		return false;
	s = sh64_load(&v->sessions[sid_idx(sid)].state);
	return sess_inc(s) == sid_inc(sid) && (lhi_named_is_made(s) ||
	    (sess_st(s) == SESS_DEAD && sess_marked(s)));
}

/*
 * True if its maker has ended.  (No maker is a named session: a record that
 * says so is damaged, and is not followed.  A later session in the maker's
 * record is not the maker.)
 */
static bool
is_maker_gone(struct lhi_view *v, uint64_t maker, bool probe)
{
	uint64_t s;

	if (maker == 0 || sid_idx(maker) >= v->geo.max_sessions)
		return false;
	s = sh64_load(&v->sessions[sid_idx(maker)].state);
	if (sess_inc(s) != sid_inc(maker) && !lhi_mutant_on(maker_by_record))
		return sess_inc(s) > sid_inc(maker);
	return sess_st(s) != SESS_NAMED && lhi_session_dead(v, maker, probe);
}

/* Returns how it would end, its word being u. NAMED_LIVES: it would not. */
static enum lhi_named_end
cause_of_end(struct lhi_view *v, const struct shm_session *se, uint64_t u,
    bool probe)
{
	if (lhi_now_ns(v) >= lhi_deadline_ns(v, state_deadline(u)))
		return lhi_view_same_time(v) ? NAMED_TTL : NAMED_LIVES;
	if (probe && lhi_bound_process_gone(v, se))
		return NAMED_PROCESS;
	return is_maker_gone(v, sh64_load(&se->maker), probe) ? NAMED_MAKER :
	    NAMED_LIVES;
}

void
lhi_named_declare_dead(struct lhi_view *v, uint32_t idx, uint64_t s)
{
	lhi_point("named.ended");
	if (sh64_cas(&v->sessions[idx].state, s,
	    sess_make(SESS_DEAD, SESS_WAS_NAMED, sess_inc(s))))
		lhi_event_session(v, LH_LOG_FOUND_DEAD,
		    sid_make(sess_inc(s), idx));
}

uint64_t
lhi_session_process_sum(const struct shm_session *se)
{
	const uint64_t of[] = { sh32_load_rlx(&se->pid),
	    sh64_load_rlx(&se->pidns_ino), sh64_load_rlx(&se->start_ticks) };

	return lhi_hash(of, sizeof(of));
}

/* True if the process of that record's session does not exist any more. */
static bool
is_process_gone(const struct lhi_view *v, uint32_t idx)
{
	const struct shm_session *se = &v->sessions[idx];
	pid_t pid = lhi_session_pid(v, sid_make(sess_inc(
	    sh64_load(&se->state)), idx));

	if (pid == 0 || lhi_mutant_on(gone_unasked) ||
	    (sh64_load_rlx(&se->maker) != lhi_session_process_sum(se) &&
	    !lhi_mutant_on(pid_unsummed)))
		return false;
	return kill(pid, 0) != 0 && errno == ESRCH;
}

/* True if the process of that record's session is seen, and has not come to its
 * end yet.  Its children get their signal then (PR_SET_PDEATHSIG), which may be
 * long after its descriptors are closed. */
static bool
is_process_there(const struct lhi_view *v, uint32_t idx)
{
	const struct shm_session *se = &v->sessions[idx];
	pid_t pid = lhi_session_pid(v, sid_make(sess_inc(
	    sh64_load(&se->state)), idx));
	struct lhi_procstatus status;
	struct lhi_procstat ps;

	if (pid == 0 || lhi_mutant_on(children_untold))
		return false;
	return lhi_procstat_may_stall(pid, &status) ||
	    (lhi_procstat_read(pid, 0, &ps) &&
	    ps.start_ticks == sh64_load_rlx(&se->start_ticks) &&
	    strchr("ZX", ps.state) == NULL);
}

/* As ask_for_sign(), of the second sign, which was promised. */
static int
ask_for_second_sign(struct lhi_view *v, uint32_t idx)
{
	int held = lhi_sign_held(v, idx);

	return held == 0 && is_process_there(v, idx) ? 1 : held;
}

/* Asks the kernel: 1: the record's sign of life is held; 0: it is not; -errno:
 * in doubt. */
static int
ask_for_sign(struct lhi_view *v, uint32_t idx)
{
	int saved = errno, held, cancel, fd;

	/* nor is a cancelled thread to lose a description */
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	fd = lhi_live_probe_fd(v);
	held = fd < 0 ? -errno : lhi_byte_held(fd, lhi_session_live_byte(idx));
	if (held == 1 && is_process_gone(v, idx))
		held = 0;
	lhi_point("session.probing");
	/* "free" is rare and final: was it the probe that was asked? */
	if (held == 0 && !lhi_live_probe_is(v, fd))
		held = -EBADF;
	if (held == 0 && lhi_sign_is_promised(v, idx))
		held = ask_for_second_sign(v, idx);
	if (held < 0)
		lhi_counters_add(v, STAT_BLIND, 1);
	atomic_store(&v->blind, held < 0 ? -held : 0);
	(void)pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return held;
}

bool
lhi_session_gone(struct lhi_view *v, uint32_t idx)
{
	return ask_for_sign(v, idx) == 0;
}

bool
lhi_session_kept(struct lhi_view *v, uint32_t idx)
{
	return ask_for_sign(v, idx) > 0;
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

/* As lhi_session_dead(), of a named session, whose state was s. */
static bool
is_named_dead(struct lhi_view *v, uint64_t sid, uint64_t s, bool probe)
{
	struct shm_session *se = &v->sessions[sid_idx(sid)];
	enum lhi_named_end end;
	uint32_t n = 0;
	uint64_t u;

	if (lhi_named_is_pending(s))
		return false;
	while (LHI_WITHIN(n, LHI_SWAPS_MAX)) {
		u = sh64_load(&se->until);
		if (!lhi_until_is_of(u, sid_inc(sid)) ||
		    sh64_load_sc(&se->state) != s) {
			/* it has ended, and perhaps the record is another's */
			s = sh64_load(&se->state);
			return sess_inc(s) > sid_inc(sid) ||
			    (sess_inc(s) == sid_inc(sid) &&
			    sess_st(s) == SESS_DEAD);
		}
		if (lhi_until_has_ended(u) && lhi_mutant_on(ended_lives))
			return false;
		if (lhi_until_has_ended(u))
			break;
		lhi_point("named.asked");
		end = cause_of_end(v, se, u, probe);
		/* it may have ended, and what was read be another's */
		if (end == NAMED_LIVES && sh64_load_sc(&se->state) != s &&
		    !lhi_mutant_on(lives_in_record))
			continue;
		if (end == NAMED_LIVES)
			return false;
		lhi_point("named.due");
		/* otherwise it was renewed, or another process has ended it */
		if (sh64_cas(&se->until, u, lhi_until_make(sid_inc(sid), end)))
			break;
	}
	if (LHI_REACHED(n, LHI_SWAPS_MAX)) {
		(void)lhi_damaged_restless(v, "the end of a session",
		    sid_idx(sid));
		return false;		/* nothing is known */
	}
	lhi_named_declare_dead(v, sid_idx(sid), s);
	return true;
}

shm_u32 *
lhi_session_death_word(struct lhi_view *v, uint64_t sid)
{
	const struct shm_session *se;
	uint64_t s;

	if (sid_idx(sid) >= v->geo.max_sessions)
		return NULL;
	se = &v->sessions[sid_idx(sid)];
	s = sh64_load(&se->state);
	return sess_inc(s) == sid_inc(sid) && (sess_st(s) == SESS_ALIVE ||
	    sess_st(s) == SESS_CLOSING) &&
	    sh64_load(&se->ring) == SHM_RING_READY ?
	    &v->rings[sid_idx(sid)].death : NULL;
}

/* Tries the earlier proof, of a session whose byte is held; by w, or if that is
 * NULL by its pid. */
static bool
has_process_ended(struct lhi_view *v, uint64_t sid,
    const struct lhi_process_watch *w)
{
	const shm_u32 *word = lhi_session_death_word(v, sid);
	uint32_t idx = sid_idx(sid);
	int saved = errno, cancel;
	uint64_t start;
	bool ended;
	pid_t pid;

	/* where the byte cannot be asked, nothing is concluded either */
	if (word == NULL || !(sh32_load(word) & ROBUST_MARKED) ||
	    atomic_load(&v->blind) != 0)
		return false;
	if (lhi_mutant_on(mark_is_proof))
		return true;
	start = sh64_load_rlx(&v->sessions[idx].start_ticks);
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pid = lhi_session_pid(v, sid);
	ended = w == NULL ? lhi_process_has_ended(pid, start) :
	    lhi_process_watch_is_of(w, pid, start) &&
	    lhi_process_watch_has_ended(w);
	lhi_point("session.ended");
	if (ended && lhi_sign_is_promised(v, idx) &&
	    !lhi_mutant_on(ended_unsigned))
		ended = ask_for_second_sign(v, idx) == 0;
	(void)pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return ended;
}

void
lhi_session_watch(struct lhi_view *v, uint64_t sid,
    struct lhi_process_watch *w)
{
	const struct shm_session *se = &v->sessions[sid_idx(sid)];
	pid_t pid = lhi_session_pid(v, sid);
	uint64_t start;

	lhi_process_watch_end(w);
	/* a second sign takes two descriptors to ask for, and decides */
	if (lhi_mutant_on(proof_unprepared) || pid == 0 ||
	    (lhi_sign_is_promised(v, sid_idx(sid)) &&
	    !lhi_mutant_on(signed_is_watched)))
		return;
	start = sh64_load_rlx(&se->start_ticks);
	/* still its record: then pid and start time were its own */
	if (sess_inc(sh64_load_sc(&se->state)) == sid_inc(sid))
		lhi_process_watch_begin(w, pid, start);
	lhi_point("session.prepared");
}

/* The session's death is proved, and its state was s. */
static bool
settle_death(struct lhi_view *v, uint64_t sid, uint64_t s)
{
	if (lhi_mutant_on(closing_unprovable) && sess_st(s) == SESS_CLOSING)
		return false;
	if (lhi_mutant_on(alive_unprovable) && sess_st(s) == SESS_ALIVE)
		return false;
	lhi_point("session.proved");
	/*
	 * a failed swap means that another process has decided: read the word
	 */
	if (lhi_session_declare_dead(v, sid_idx(sid), s))
		return true;
	s = sh64_load(&v->sessions[sid_idx(sid)].state);
	return sess_inc(s) > sid_inc(sid) || sess_st(s) == SESS_DEAD;
}

bool
lhi_session_watched_dead(struct lhi_view *v, uint64_t sid,
    const struct lhi_process_watch *w)
{
	uint64_t s;

	if (w->pid == 0 || sid_idx(sid) >= v->geo.max_sessions)
		return false;
	s = sh64_load(&v->sessions[sid_idx(sid)].state);
	return sess_inc(s) == sid_inc(sid) && !sess_marked(s) &&
	    (sess_st(s) == SESS_ALIVE || sess_st(s) == SESS_CLOSING) &&
	    has_process_ended(v, sid, w) && settle_death(v, sid, s);
}

bool
lhi_session_dead(struct lhi_view *v, uint64_t sid, bool probe)
{
	uint32_t idx = sid_idx(sid);
	uint64_t s;

	if (idx >= v->geo.max_sessions)
		return false;
	s = sh64_load(&v->sessions[idx].state);
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
		return is_named_dead(v, sid, s, probe);
	default:
		return false;
	}
	if (!probe || sess_marked(s) || (!lhi_session_gone(v, idx) &&
	    !has_process_ended(v, sid, NULL)))
		return false;
	return settle_death(v, sid, s);
}

bool
lhi_named_ended(struct lhi_view *v, uint64_t sid)
{
	return sid != 0 && lhi_named_is(v, sid) &&
	    lhi_session_dead(v, sid, true);
}

pid_t
lhi_session_pid(const struct lhi_view *v, uint64_t sid)
{
	uint64_t ours = lhi_process_pid_ns();
	const struct shm_session *se;
	pid_t pid;

	if (sid_idx(sid) >= v->geo.max_sessions || ours == 0 ||
	    !lhi_process_counts_alike())
		return 0;
	se = &v->sessions[sid_idx(sid)];
	pid = (pid_t)sh32_load_rlx(&se->pid);
	return pid > 0 && sh64_load_rlx(&se->pidns_ino) == ours ? pid : 0;
}

bool
lhi_session_is_foreign(const struct lhi_view *v, uint64_t sid)
{
	uint64_t ours = lhi_process_pid_ns(), theirs;

	if (sid_idx(sid) >= v->geo.max_sessions)
		return false;
	theirs = sh64_load_rlx(&v->sessions[sid_idx(sid)].pidns_ino);
	return ours != 0 && theirs != 0 && theirs != ours;
}
