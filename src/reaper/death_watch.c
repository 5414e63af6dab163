/* SPDX-License-Identifier: MIT */
/*
 * Watches sessions, to learn soon and cheaply which have died.  reap.c calls
 * it.
 *
 * A session whose process is visible from here is watched by a pidfd in one
 * epoll set.  The pidfd is readable when the process has ended.  That is only a
 * suspicion; the proof is the session's byte (shm/session_record.c), as for
 * everybody.  So a wrong pidfd does no harm: it is kept only if pid and start
 * time are those of the session, and what it reports is probed.
 *
 *	a session is added	when it is seen to own claims (all chunks are
 *				looked at every 40 ms), or in the slow round
 *				over all records
 *	BY_FD			Its pidfd is in the set.  Exec ends a session,
 *				but no process, so these sessions are also
 *				probed in turn, for a thousandth of the time
 *	BY_PROBE		It has no pidfd: another pid namespace, no more
 *				descriptors, or an old kernel.  Or its process
 *				has ended and its byte is still locked, because
 *				a child inherited it (lh_liveness_fd()).  Or it
 *				is a named session, which has no process.  All
 *				of these are probed every 40 ms if that takes
 *				less than 0.25 ms, otherwise in turn
 *	DEAD			proved dead: to be reclaimed
 *	STUCK			Another process is reclaiming it, perhaps a
 *				stopped one.  Its exclusive leases are ended
 *				anyway; the rest is tried again later
 *	RECLAIMED		remembered, because its record stays DEAD
 *
 * A closed session is forgotten when its record belongs to another one, or when
 * its process ends.  These notes are private to this process.  The session's
 * number is read from shared memory, where anybody may write; a wrong one only
 * makes the reaper probe a wrong session.
 *
 * Some descriptors stay free for probing, because only a fresh descriptor can
 * prove that a session is dead.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/error.h"
#include "base/procstat.h"
#include "shm/session_liveness.h"
#include "shm/session_reclaim.h"
#include "reaper/reap_ops.h"

#define FDS_LEFT 32		/* kept free for probing and for the program */
#define EVENTS 64
#define DOUBT_PACE 1000		/* 1/1000 of the time for BY_FD sessions */
#define RECORDS 64u		/* records in a walk: 4,096 take 3 s */

int
lhi_death_watch_begin(struct lhi_reaper *r)
{
	struct rlimit most;

	r->session = calloc(r->v.geo.max_sessions, sizeof(*r->session));
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	r->fd_limit = 0;
	if (getrlimit(RLIMIT_NOFILE, &most) == 0)
		r->fd_limit = most.rlim_cur > INT32_MAX ? INT32_MAX :
		    (int)most.rlim_cur - FDS_LEFT;
	if (r->session == NULL)
		return lhi_fail(-ENOMEM, "out of memory");
	if (r->epoll_fd < 0)
		return lhi_fail(-errno, "cannot create an epoll set");
	return 0;
}

/* Clears a note. */
static void
forget_session(struct lhi_reaper *r, struct reap_session *n)
{
	if (n->how == REAP_BY_FD) {
		(void)close(n->fd);
		r->counts.watched--;
	}
	r->asked -= n->how == REAP_BY_PROBE;
	r->dead -= n->how == REAP_DEAD;
	r->counts.sessions -= n->how == REAP_BY_FD ||
	    n->how == REAP_BY_PROBE;
	*n = (struct reap_session){ .how = REAP_UNKNOWN };
}

/* Replaces a note, and counts it. */
static void
set_session(struct lhi_reaper *r, struct reap_session *n, uint64_t sid,
    enum reap_watch how, int fd)
{
	forget_session(r, n);
	*n = (struct reap_session){ sid, fd, how };
	r->counts.watched += how == REAP_BY_FD;
	r->asked += how == REAP_BY_PROBE;
	r->dead += how == REAP_DEAD;
	r->counts.sessions += how == REAP_BY_FD || how == REAP_BY_PROBE;
}

void
lhi_death_watch_end(struct lhi_reaper *r)
{
	for (uint32_t i = 0; r->session != NULL && i < r->v.geo.max_sessions;
	     i++)
		forget_session(r, &r->session[i]);
	free(r->session);
	if (r->epoll_fd >= 0)
		(void)close(r->epoll_fd);
}

/* Opens a pidfd of the session's process and adds it to the set.  Returns it,
 * or -1. */
static int
watch_process(struct lhi_reaper *r, uint64_t sid)
{
	struct epoll_event ev = { .events = EPOLLIN,
	    .data.u32 = sid_idx(sid) };
	pid_t pid = lhi_session_pid(&r->v, sid);
	uint64_t start = sh64_load_rlx(
	    &r->v.sessions[sid_idx(sid)].start_ticks);
	struct lhi_procstat ps;
	int fd;

	if (pid == 0 || start == 0 || r->fd_limit <= 0)
		return -1;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0 && errno == ENOSYS)
		r->fd_limit = 0;	/* not supported: do not try again */
	if (fd < 0)
		return -1;
	/* open the pidfd before reading /proc: then it cannot belong to a later
	 * process than the one that /proc shows */
	if (fd < r->fd_limit && lhi_procstat_read(pid, 0, &ps) &&
	    ps.start_ticks == start &&
	    epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, fd, &ev) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/* Returns the state in the session's record: ALIVE (also for CLOSING and
 * NAMED), DEAD, or UNUSED for everything else. */
static unsigned
read_session_state(struct lhi_reaper *r, uint64_t sid)
{
	uint64_t s = sh64_load(&r->v.sessions[sid_idx(sid)].state);

	if (sess_inc(s) != sid_inc(sid))
		return SESS_UNUSED;
	switch (sess_st(s)) {
	case SESS_ALIVE:
	case SESS_CLOSING:
	case SESS_NAMED:
		return SESS_ALIVE;
	case SESS_DEAD:
		return SESS_DEAD;
	default:
		return SESS_UNUSED;
	}
}

void
lhi_death_watch_add(struct lhi_reaper *r, uint64_t sid)
{
	struct reap_session *n;
	int fd;

	if (sid_idx(sid) >= r->v.geo.max_sessions)
		return;
	n = &r->session[sid_idx(sid)];
	if (n->sid == sid)
		return;
	if (lhi_reap_is_spent(r))
		return;		/* the next walk finds it again */
	switch (read_session_state(r, sid)) {
	case SESS_ALIVE:
		fd = watch_process(r, sid);
		set_session(r, n, sid, fd >= 0 ? REAP_BY_FD : REAP_BY_PROBE,
		    fd);
		break;
	case SESS_DEAD:
		set_session(r, n, sid, REAP_DEAD, -1);
		break;
	default:
		/* it has ended and left a chunk behind
		 * (shm/session_reclaim.c) */
		if (lhi_session_dead(&r->v, sid, false))
			set_session(r, n, sid, REAP_DEAD, -1);
	}
}

/* Asks the kernel about a session, and updates its note if the session is dead
 * or gone. */
static void
probe_session(struct lhi_reaper *r, struct reap_session *n)
{
	unsigned st = read_session_state(r, n->sid);

	r->counts.probes += st == SESS_ALIVE;
	if (st == SESS_DEAD || (st == SESS_ALIVE &&
	    lhi_session_dead(&r->v, n->sid, true)))
		set_session(r, n, n->sid, REAP_DEAD, -1);
	else if (st != SESS_ALIVE)
		forget_session(r, n);
}

void
lhi_death_watch_read_events(struct lhi_reaper *r)
{
	struct epoll_event ev[EVENTS];
	int got;

	/* ends: when the pass has spent its time */
	do {
		got = epoll_wait(r->epoll_fd, ev, EVENTS, 0);
		for (int i = 0; i < got; i++) {
			struct reap_session *n;

			if (ev[i].data.u32 >= r->v.geo.max_sessions)
				continue;
			n = &r->session[ev[i].data.u32];
			if (n->how != REAP_BY_FD)
				continue;
			lhi_point("watch.over");
			probe_session(r, n);
			/* the process has ended and the session lives: its byte
			 * was inherited */
			if (n->how == REAP_BY_FD)
				set_session(r, n, n->sid, REAP_BY_PROBE, -1);
		}
	} while (got == EVENTS && !lhi_reap_is_spent(r));
}

/* Probes the next sessions that are watched in that way, for a limited time. */
static void
probe_some_sessions(struct lhi_reaper *r, enum reap_watch how, uint32_t *hand,
    int64_t for_ns)
{
	uint32_t n = r->v.geo.max_sessions;
	int64_t until = lhi_clock_ns(CLOCK_MONOTONIC) + for_ns;

	for (uint32_t i = 0; i < n; i++) {
		struct reap_session *who = &r->session[*hand];

		*hand = (*hand + 1) % n;
		if (who->how != how)
			continue;
		probe_session(r, who);
		if (lhi_clock_ns(CLOCK_MONOTONIC) >= until)
			break;
	}
}

void
lhi_death_watch_probe(struct lhi_reaper *r)
{
	int64_t began = lhi_clock_ns(CLOCK_MONOTONIC);
	uint32_t n = r->v.geo.max_sessions;

	if (r->asked > 0)
		probe_some_sessions(r, REAP_BY_PROBE, &r->ask_hand,
		    r->budget_ns / REAP_PROBE_PART);
	if (r->counts.watched > 0 && began >= r->doubt_ns) {
		probe_some_sessions(r, REAP_BY_FD, &r->doubt_hand,
		    r->budget_ns / REAP_DOUBT_PART);
		r->doubt_ns = began + DOUBT_PACE *
		    (lhi_clock_ns(CLOCK_MONOTONIC) - began);
	}
	for (uint32_t i = 0; i < RECORDS && i < n; i++) {
		uint32_t idx = r->record_hand;
		struct reap_session *who = &r->session[idx];
		uint64_t s = sh64_load(&r->v.sessions[idx].state);
		uint64_t sid = sid_make(sess_inc(s), idx);
		unsigned st = sess_st(s);

		r->record_hand = (idx + 1) % n;
		if (who->how == REAP_STUCK)
			set_session(r, who, who->sid, REAP_DEAD, -1);
		if (st == SESS_ALIVE || st == SESS_CLOSING ||
		    st == SESS_NAMED || st == SESS_DEAD)
			lhi_death_watch_add(r, sid);
		else if (who->how == REAP_BY_FD || who->how == REAP_BY_PROBE)
			forget_session(r, who);
	}
}

void
lhi_death_watch_reclaim(struct lhi_reaper *r, lhi_reap_stuck_fn *on_stuck)
{
	uint32_t n = r->v.geo.max_sessions;

	for (uint32_t i = 0; r->dead > 0 && i < n; i++) {
		struct reap_session *who = &r->session[r->bury_hand];
		uint64_t sid = who->sid;
		int done;

		r->bury_hand = (r->bury_hand + 1) % n;
		if (who->how != REAP_DEAD)
			continue;
		done = lhi_session_reclaim(&r->v, sid);
		lhi_point("watch.buried");
		if (done == 0)
			on_stuck(r, sid, lhi_now_ns(&r->v));
		r->counts.buried += done == 1;
		set_session(r, who, sid,
		    done == 0 ? REAP_STUCK : REAP_RECLAIMED, -1);
		lhi_reap_note_damage(r, done);
		if (lhi_reap_is_spent(r))
			break;
	}
}
