/* SPDX-License-Identifier: MIT */
/*
 * Limits for each user: whether a user may have another session, or more
 * leases.
 *
 * In a table that several users may write, one user's leak could take every
 * record, and no other user, not even an operator, could attach.  So, except
 * for the table's owner and root,
 *	a user has half the records at most, for sessions of processes and for
 *	named sessions together;
 *	the last sixteenth of them, one at least, is not theirs to take;
 *	the same applies to chunks of 64 leases, by the user of their session.
 * In a table that only its owner may write there is no limit.
 *
 * This is no defence against a malicious member, which can write any user into
 * its record, and lock any byte.  Two that begin at once may exceed the half by
 * one.
 *
 * Only living sessions count.  Whether they live is checked when the half is
 * reached.  An uncertain one counts as alive.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "prim/file_owner.h"
#include "shm/session_limit.h"
#include "shm/session_liveness.h"

#define OTHERS_WRITE 0022

/* True if the session of record i, whose state was s, has not ended. */
static bool
is_living(struct lhi_view *v, uint32_t i, uint64_t s)
{
	return sess_st(s) == SESS_NAMED ?
	    !lhi_session_dead(v, sid_make(sess_inc(s), i), true) :
	    !lhi_session_gone(v, i);
}

/* Returns how many sessions that user has; with `probe`, only living ones. */
static uint32_t
count_sessions(struct lhi_view *v, uint32_t uid, bool probe)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->geo.max_sessions; i++) {
		const struct shm_session *se = &v->sessions[i];
		uint64_t s = sh64_load(&se->state);
		unsigned st = sess_st(s);

		n += (st == SESS_ALIVE || st == SESS_CLOSING ||
		    st == SESS_NAMED) &&
		    sh32_load_rlx(&se->uid) == uid &&
		    (!probe || is_living(v, i, s));
	}
	return n;
}

int
lhi_session_limit(struct lhi_view *v, int fd, uint32_t *n)
{
	uint32_t all = v->geo.max_sessions, uid = (uint32_t)getuid();
	struct stat st;

	*n = all;
	if (fstat(fd, &st) != 0)
		return lhi_fail(-errno, "cannot look at the live file of %s",
		    v->path);
	if (!(st.st_mode & OTHERS_WRITE) || geteuid() == 0 ||
	    lhi_owner_is_self(fd, &st))
		return 0;
	*n = all - (all / 16 > 0 ? all / 16 : all > 1);
	if (count_sessions(v, uid, false) < all / 2 ||
	    count_sessions(v, uid, true) < all / 2)
		return 0;
	return lhi_fail(-ENOSPC, "user %u has %u of the %u sessions of %s, "
	    "which is as many as one user may: close some, or let the table's "
	    "owner create it with more sessions", uid, all / 2, all, v->path);
}

int
lhi_session_fail_full(struct lhi_view *v, uint32_t n)
{
	uint32_t named = 0;
	char who[80] = " by living processes: close some, or";

	if (atomic_load(&v->blind) != 0)
		return lhi_fail(-ENOSPC, "all %u sessions of %s are in use, "
		    "and this process cannot tell whether by living "
		    "processes: it cannot ask for their signs of life (%s)", n,
		    v->path, strerror(atomic_load(&v->blind)));
	for (uint32_t i = 0; i < n; i++)
		named += sess_st(sh64_load(&v->sessions[i].state)) ==
		    SESS_NAMED;
	if (named > 0)
		(void)snprintf(who, sizeof(who), ", %u of them named sessions: "
		    "destroy or close some, or", named);
	return lhi_fail(-ENOSPC, "all %u sessions of %s%s are in use%s create "
	    "a table with more sessions", n, v->path, n < v->geo.max_sessions ?
	    ", but those that are kept for its owner and root," : "", who);
}

int
lhi_lease_limit(const struct lhi_view *v, uint64_t sid)
{
	uint32_t all = v->geo.n_claims / SHM_CHUNK - 1, n = lhi_chunks_ready(v);
	uint32_t half = all / 2 > 0 ? all / 2 : 1, own = 0, given = 0;
	uint32_t uid;

	if (!v->others_write || sid_idx(sid) >= v->geo.max_sessions)
		return 0;
	uid = sh32_load_rlx(&v->sessions[sid_idx(sid)].uid);
	/* as many as have memory: it is not more than that */
	if (uid == 0 || uid == v->live_uid || n - 1 < half)
		return 0;
	for (uint32_t ch = 1; ch < n; ch++) {
		uint64_t owner = sh64_load(&v->chunks[ch].owner);

		given += owner != 0;
		own += owner != 0 && sid_idx(owner) < v->geo.max_sessions &&
		    sh32_load_rlx(&v->sessions[sid_idx(owner)].uid) == uid;
	}
	if (own >= half)
		return lhi_fail(-ENOSPC, "user %u has %u of the %u leases of "
		    "%s, which is as many as one user may: release some, or "
		    "let the table's owner create it with more", uid,
		    own * SHM_CHUNK, all * SHM_CHUNK, v->path);
	if (given >= all - all / 16)
		return lhi_fail(-ENOSPC, "all %u leases of %s but those that "
		    "are kept for its owner and root are given out to living "
		    "sessions: use a table with more leases",
		    all * SHM_CHUNK, v->path);
	return 0;
}
