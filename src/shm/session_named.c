/* SPDX-License-Identifier: MIT */
/*
 * Named sessions: whether the session of that name lives, without a process.
 *
 * Layout.  A session record whose state is NAMED(inc). No process has its
 * bytes.  It lives until the moment in its word `until`, which renewals move
 * on, and is found by its name, 1 to 31 bytes in `application`.
 *
 *	until	incarnation (26) | deadline (38), in units as a lease's; below
 *		UNTIL_FIRST, not a time: how it ended (enum lhi_named_end)
 *	maker	session id: when that ends, so does this; or 0
 *
 * With ttl 0 it is bound to a process instead (session_bound.c): `until` is
 * "never" until somebody proves that process dead.
 *
 * The transitions of the state are SN6 to SN9 in doc/protocol.md ("Session").
 *
 * Invariants.
 *  I1	Of one name at most one is NAMED and not ended.
 *  I2	`until` changes by exact swaps, and no value returns: each renewal's is
 *	later than the one that it replaces, by one unit at least.  It is AHEAD
 *	units too late at most: a renewal that would be more waits for the
 *	clock.
 *  I3	Ended is final: nothing is renewed, and no lease acquired, after it.
 *  I4	While it is reclaimed, no claim of it is being taken.  A process that
 *	takes one is the chunk's keeper (op/session_claim.c), and checks, after
 *	having become that, that the session has not ended; the reclaiming
 *	process ends the session, and then reads the keeper.
 *
 * Making (I1). Publish PENDING, then read every other record.  If one is NAMED
 * and lives, withdraw our own, and use that.  If one is PENDING, of the same
 * name, withdraw it.  At the end swap exactly our PENDING to NAMED; if it was
 * withdrawn, begin anew.  Of two that make it at once, the one that published
 * later sees the other's record, pending or named.  Neither waits for the
 * other; a stopped one is withdrawn.
 *
 * Renewing.  As extend: load d, see the clock before it, swap exactly d for a
 * later value, read the clock again.  If that has reached d, the swap is undone
 * by ending the session, unless another process has renewed it on top (and
 * reported success: by I2 the undoing swap then fails). End by ttl: load d, see
 * the clock past it, swap exactly d (session_liveness.c).
 *
 * A crash or stop of
 *	a maker, RESERVED	as of a session that begins
 *	a maker, PENDING	withdrawn by the next maker of that name, or by
 *				a process that needs a record
 *	a renewer, an ender	one swap; state NAMED, `until` ended: the next
 *				process that asks makes it DEAD
 *
 * Lock-delay.  A word that is freed for a session that did not end by being
 * destroyed says DIED, and before that the slot gets the moment from which the
 * key may be granted.  It is read only where a FREE word has a cause: never on
 * the fast path.  It is never set to an earlier moment than a future one that
 * it has, so a late or stale write is harmless: at most a delay.
 *
 * Not guaranteed: order between a renewal and the end of the maker.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/error.h"
#include "shm/damaged.h"
#include "shm/session_bytes.h"
#include "shm/session_facts.h"
#include "shm/session_limit.h"
#include "shm/session_liveness.h"
#include "shm/session_named.h"
#include "shm/table_age.h"
#include "shm/counters.h"
#include "shm/session_reclaim.h"

#define SLACK_NS	(10 * NS_PER_MS)	/* of AHEAD, rounding, clocks */
#define AHEAD		4			/* units of 2^20 ns */
#define AHEAD_PAUSE_NS	500000
#define MAKE_TRIES	200
#define RENEW_TRIES	LHI_SWAPS_MAX	/* each time another was quicker */

/* ttl_ms from now on, and after `old`; without a ttl never.  0: that would be
 * too late now (I2). */
static uint64_t
until_after(const struct lhi_view *v, uint64_t inc, uint32_t ttl_ms,
    uint64_t old)
{
	uint64_t d = lhi_deadline(v, lhi_now_ns(v) + ttl_ms * NS_PER_MS);

	if (ttl_ms == 0)
		return lhi_until_make(inc, DEADLINE_MAX);
	if (d < UNTIL_FIRST)
		d = UNTIL_FIRST;
	if (d + AHEAD <= state_deadline(old) &&
	    !lhi_mutant_on(renewals_add_up))
		return 0;
	if (d <= state_deadline(old) && state_deadline(old) < DEADLINE_MAX)
		d = state_deadline(old) + 1;
	return lhi_until_make(inc, d);
}

bool
lhi_named_sound(const struct lhi_view *v, uint32_t idx)
{
	const struct shm_session *se = &v->sessions[idx];
	uint64_t u = sh64_load(&se->until), s = sh64_load(&se->state);

	if (lhi_session_has_facts(s) && !lhi_session_facts_fit(se))
		return sh64_load(&se->state) != s;	/* it moved */
	if (sess_st(s) != SESS_NAMED)
		return true;
	if (sh32_load_rlx(&se->ttl_ms) == 0)
		return lhi_until_is_of(u, sess_inc(s)) &&
		    (lhi_until_has_ended(u) ||
		    state_deadline(u) == DEADLINE_MAX);
	/* a renewal makes it end ttl from then, rounded up */
	return lhi_until_is_of(u, sess_inc(s)) && (lhi_until_has_ended(u) ||
	    v->foreign_clock || lhi_deadline_ns(v, state_deadline(u)) <=
	    lhi_now_ns(v) + (int64_t)sh32_load_rlx(&se->ttl_ms) * NS_PER_MS +
	    SLACK_NS);
}

bool
lhi_named_end(struct lhi_view *v, uint64_t sid)
{
	struct shm_session *se = &v->sessions[sid_idx(sid)];
	uint64_t s = sh64_load(&se->state), u;
	uint32_t n = 0;

	if (!lhi_named_is_made(s) || sess_inc(s) != sid_inc(sid))
		return false;
	do {
		u = sh64_load(&se->until);
		if (!lhi_until_is_of(u, sid_inc(sid)) ||
		    lhi_until_has_ended(u) || lhi_session_dead(v, sid, false))
			return false;
	} while (!sh64_cas(&se->until, u,
	    lhi_until_make(sid_inc(sid), NAMED_DESTROYED)) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX));
	if (LHI_REACHED(n, LHI_SWAPS_MAX)) {
		(void)lhi_damaged_restless(v, "the end of a session",
		    sid_idx(sid));
		return false;
	}
	lhi_named_declare_dead(v, sid_idx(sid), s);
	return true;
}

int
lhi_named_renew(struct lhi_view *v, uint64_t sid)
{
	const struct timespec a_moment = { 0, AHEAD_PAUSE_NS };
	struct shm_session *se = &v->sessions[sid_idx(sid)];

	for (uint32_t i = 0; i < RENEW_TRIES; i++) {
		uint64_t u = sh64_load(&se->until), later;
		int error = lhi_table_age_check(v, lhi_now_ns(v));

		if (error != 0)
			return error;
		if (!lhi_named_is(v, sid) || lhi_session_dead(v, sid, true) ||
		    !lhi_until_is_of(u, sid_inc(sid)) || lhi_until_has_ended(u))
			return -ESTALE;
		if (state_deadline(u) == DEADLINE_MAX)
			return 0;	/* bound to a process: no ttl */
		if (lhi_now_ns(v) >= lhi_deadline_ns(v, state_deadline(u)))
			continue;	/* it was renewed meanwhile */
		lhi_point("named.renewing");
		later = until_after(v, sid_inc(sid),
		    sh32_load_rlx(&se->ttl_ms), u);
		if (later == 0 && !lhi_named_sound(v, sid_idx(sid)))
			return lhi_damaged(v, "a named session's end is later "
			    "than a renewal makes it", sid_idx(sid), u);
		if (later == 0)
			(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &a_moment,
			    NULL);
		if (later == 0 || !sh64_cas(&se->until, u, later))
			continue;
		lhi_point("named.renewed");
		if (lhi_now_ns(v) < lhi_deadline_ns(v, state_deadline(u)))
			return 0;
		/* too late: undo; unless somebody has renewed it on top */
		(void)sh64_cas(&se->until, later,
		    lhi_until_make(sid_inc(sid), NAMED_TTL));
	}
	return -ESTALE;		/* or our clock is not theirs */
}

int
lhi_named_find(struct lhi_view *v, const char *name, uint64_t *sid)
{
	const struct lhi_session_name want = lhi_session_name_of(name);

	for (uint32_t i = 0; i < v->geo.max_sessions; i++) {
		struct shm_session *se = &v->sessions[i];
		uint64_t s = sh64_load(&se->state);
		struct lhi_session_name has;

		if (!lhi_named_is_made(s))
			continue;
		has = lhi_session_name_in(se);
		if (memcmp(&has, &want, sizeof(has)) != 0 ||
		    sh64_load_sc(&se->state) != s ||
		    lhi_session_dead(v, sid_make(sess_inc(s), i), true))
			continue;
		*sid = sid_make(sess_inc(s), i);
		return 1;
	}
	return 0;
}

/* The record is RESERVED, and ours. */
static void
describe_session(struct lhi_view *v, uint32_t idx, uint64_t inc,
    const struct lhi_named_wish *wish)
{
	struct shm_session *se = &v->sessions[idx];
	shm_u64 *w = (shm_u64 *)(void *)se->application;
	const struct lhi_session_name n = lhi_session_name_of(wish->name);
	const struct lhi_bound *b = &wish->bound;

	/* (pidns_ino 0: no process is behind it) */
	sh32_store_rlx(&se->pid, b->pid != 0 ? (uint32_t)b->pid :
	    (uint32_t)getpid());
	sh32_store_rlx(&se->uid, (uint32_t)getuid());
	sh64_store_rlx(&se->pidns_ino, b->pidns_ino);
	sh32_store(&se->sign, 0);
	sh64_store_rlx(&se->start_ticks, b->start_ticks);
	sh64_store_rlx(&se->attached_ns, (uint64_t)lhi_now_ns(v));
	for (unsigned i = 0; i < SESSION_NAME_WORDS; i++)
		sh64_store(&w[i], n.w[i]);
	sh64_store(&se->maker, wish->maker);
	sh64_store_rlx(&se->outer, 0);
	sh32_store(&se->ttl_ms, wish->ttl_ms);
	sh32_store(&se->lock_delay_ms, wish->lock_delay_ms);
	sh32_store(&se->on_end, wish->on_end);
	sh32_store(&se->sum, lhi_session_facts_sum(se));
	sh64_store(&se->until, until_after(v, inc, wish->ttl_ms, 0));
}

/* Makes record idx ours, PENDING. Returns 1, *s; 0: not possible; -EUCLEAN,
 * -errno. */
static int
reserve_record(struct lhi_view *v, int fd, uint32_t idx,
    const struct lhi_named_wish *wish, uint64_t *s)
{
	struct shm_session *se = &v->sessions[idx];
	uint64_t inc, was;
	int got;

	got = lhi_session_lock_recycle(v, fd, idx);
	if (got != 0)
		return got == -EAGAIN ? 0 : lhi_fail(got, "cannot lock a byte "
		    "of the live file of %s: %s", v->path, strerror(-got));
	got = lhi_session_reclaim_record(v, idx, &inc);
	was = sh64_load(&se->state);
	if (got == 1 && sess_inc(was) != inc)
		got = 0;
	inc = lhi_session_next_inc(inc);
	if (got == 1 && (lhi_named_is_pending(was) ||
	    /* an old owner that has not been torn down yet */
	    lhi_session_held(v, fd, idx) || !sh64_cas(&se->state, was,
	    sess_make(SESS_RESERVED, 0, inc))))
		got = 0;
	if (got == 1) {
		lhi_point("named.reserved");
		lhi_counters_begin(v, idx);
		describe_session(v, idx, inc, wish);
		*s = sess_make(SESS_NAMED, SESS_PENDING, inc);
		/* pairs with: the looks at all others that follow */
		(void)sh64_cas(&se->state, sess_make(SESS_RESERVED, 0, inc),
		    *s);
	}
	lhi_session_unlock_recycle(fd, idx);
	return got;
}

/* The index of a record that is ours; -ENOSPC; -EUCLEAN; -errno. */
static int
reserve_any_record(struct lhi_view *v, int fd,
    const struct lhi_named_wish *wish, uint64_t *s)
{
	uint32_t n;
	int error = lhi_session_limit(v, fd, &n);

	if (error != 0)
		return error;
	/* first the ones that are surely free, then those that may be dead */
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < n; i++) {
			unsigned st = sess_st(sh64_load(
			    &v->sessions[i].state));
			bool in_use = st == SESS_ALIVE ||
			    st == SESS_CLOSING || st == SESS_NAMED;
			int got = in_use != (pass == 1) ? 0 :
			    reserve_record(v, fd, i, wish, s);

			if (got != 0)
				return got < 0 ? got : (int)i;
		}
	}
	return lhi_session_fail_full(v, n);
}

/*
 * Our record, idx, is PENDING.  1: there is another of its name that lives; 0;
 * -EUCLEAN.
 */
static int
find_rival(struct lhi_view *v, uint32_t idx,
    const struct lhi_session_name *want, uint64_t *sid)
{
	const uint32_t most = v->geo.max_sessions + LHI_SWAPS_MAX;
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->geo.max_sessions && LHI_WITHIN(n, most);) {
		struct shm_session *se = &v->sessions[i];
		uint64_t s = sh64_load_sc(&se->state);
		struct lhi_session_name has;

		if (i == idx || sess_st(s) != SESS_NAMED) {
			i++;
			continue;
		}
		has = lhi_session_name_in(se);
		if (sh64_load_sc(&se->state) != s)
			continue;		/* look at it again */
		if (memcmp(&has, want, sizeof(has)) != 0) {
			i++;
		} else if (lhi_named_is_pending(s)) {
			lhi_point("named.rival");
			lhi_named_withdraw(v, i, s);
		} else if (!lhi_session_dead(v, sid_make(sess_inc(s), i),
		    true)) {
			*sid = sid_make(sess_inc(s), i);
			return 1;
		} else {
			i++;
		}
	}
	return !LHI_REACHED(n, most) ? 0 :
	    lhi_damaged_restless(v, "the name of a session", idx);
}

/* 0 made; -EEXIST; -EAGAIN: we were withdrawn; -ENOSPC, -EUCLEAN. */
static int
make_session_once(struct lhi_view *v, int fd, const struct lhi_named_wish *wish,
    uint64_t *sid)
{
	const struct lhi_session_name want = lhi_session_name_of(wish->name);
	uint64_t s = 0;
	int idx = reserve_any_record(v, fd, wish, &s), rival;

	if (idx < 0)
		return idx;
	lhi_point("named.pending");
	rival = find_rival(v, (uint32_t)idx, &want, sid);
	if (rival != 0) {
		lhi_named_withdraw(v, (uint32_t)idx, s);
		return rival < 0 ? rival : -EEXIST;
	}
	lhi_point("named.alone");
	if (!sh64_cas(&v->sessions[idx].state, s,
	    sess_make(SESS_NAMED, 0, sess_inc(s))))
		return -EAGAIN;
	*sid = sid_make(sess_inc(s), (uint32_t)idx);
	return 0;
}

int
lhi_named_make(struct lhi_view *v, const struct lhi_named_wish *wish,
    uint64_t *sid)
{
	struct timespec a_while = { 0, 0 };
	struct lhi_reclaim_fd sp;
	int error = -EAGAIN;

	if (!lhi_reclaim_fd_open(v, &sp)) {
		error = errno == ENOMEM ? -ENOMEM : -EMFILE;
		lhi_reclaim_fd_close(&sp);
		return lhi_view_gone(v) ? lhi_view_fresh(v) :
		    lhi_fail(error, "cannot %s %s once more", error == -ENOMEM ?
		    "map a page of" : "open", v->path);
	}
	for (int i = 0; error == -EAGAIN && i < MAKE_TRIES; i++) {
		/* not in step with who makes it as well */
		a_while.tv_nsec = (i % 16) * (1000 + getpid() % 8 * 700);
		if (i > 0)
			(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &a_while,
			    NULL);
		error = lhi_named_find(v, wish->name, sid) ? -EEXIST :
		    make_session_once(v, sp.fd, wish, sid);
	}
	lhi_reclaim_fd_close(&sp);
	return error != -EAGAIN ? error : lhi_fail(error, "session '%.31s' is "
	    "being made and ended by others all the time: try again",
	    wish->name);
}

void
lhi_named_end_made_by(struct lhi_view *v, uint64_t maker)
{
	for (uint32_t i = 0; i < v->geo.max_sessions; i++) {
		struct shm_session *se = &v->sessions[i];
		uint64_t s = sh64_load(&se->state);

		if (sess_st(s) == SESS_NAMED &&
		    sh64_load(&se->maker) == maker &&
		    lhi_named_end(v, sid_make(sess_inc(s), i)))
			(void)lhi_session_reclaim(v, sid_make(sess_inc(s), i));
	}
}
