/* SPDX-License-Identifier: MIT */
/*
 * The named session of a live handle: one that it was given, or its own.
 *
 * Its own one is made by each acquire.  It ends, with the other leases that are
 * in it, when the handle's lease does: released, lost, or left by
 * lh_lock_close() or lh_close().  It also ends with the attachment, so that a
 * crash leaves nothing.
 *
 * It must never end before the lease, whatever the lease is extended to, and
 * however late the thread is: lh_lock_valid() knows the lease's deadline only.
 * So it has the longest ttl, and nobody relies on that to end it.
 *
 * Other threads of the application may be using the struct lh_session when the
 * lease is lost, or acquired again.  So the struct stays that of the ended
 * session.  Its memory is kept for a while, as that of closed handles is.
 */
#include <errno.h>
#include "base/error.h"
#include "live/live_set.h"
#include "live/session_handle.h"
#include "live/session_renewal.h"
#include "prim/shared.h"

_Static_assert(LH_SESSION_TTL_MAX_MS >= LH_TTL_MAX_MS, "outlives a lease");

int
lhi_live_session_check(const struct lh_lock_opts *o)
{
	if ((o->flags & ~LH_LOCK_OWN_SESSION) != 0 || o->reserved != 0)
		return lhi_fail(-EINVAL, "unknown flag in 0x%x, or reserved is "
		    "not 0", o->flags);
	if (o->session == NULL)
		return 0;
	if (o->flags & LH_LOCK_OWN_SESSION)
		return lhi_fail(-EINVAL, "a session is given, and one of its "
		    "own is wanted (LH_LOCK_OWN_SESSION)");
	return lhi_session_check(o->session);
}

void
lhi_live_session_free(struct lh_lock *l)
{
	if (l->owns_session && l->session != NULL)
		lhi_session_forget(l->session);
	l->session = NULL;
}

/* Makes the handle's own session; the handle is marked as acquiring. */
static int
make_own(struct lh_lock *l, struct lh *lh)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh_session *s;
	int error;

	o.flags = LH_SESSION_WITH_MAKER;
	o.ttl_ms = LH_SESSION_TTL_MAX_MS;
	error = lh_session_open(lh, NULL, &o, &s);
	if (error != 0)
		return error;
	lhi_live_lock();
	lhi_live_session_free(l);
	l->session = s;
	lhi_session_renewal_begin(s);
	lhi_live_unlock();
	return 0;
}

int
lhi_live_session_begin(struct lh_lock *l, struct lh *lh,
    const struct lh_acquire_opts **opts, struct lhi_live_ask *ask)
{
	int error;

	if (l->session == NULL && !l->owns_session)
		return 0;
	ask->opts = (struct lh_acquire_opts)LH_ACQUIRE_OPTS_INIT;
	ask->more = (struct lh_acquire_more)LH_ACQUIRE_MORE_INIT;
	if (*opts != NULL) {
		/* (of another size: the acquire says so) */
		if ((*opts)->size != sizeof(ask->opts) ||
		    ((*opts)->more != NULL &&
		    (*opts)->more->size != sizeof(ask->more)))
			return 0;
		ask->opts = **opts;
		if ((*opts)->more != NULL)
			ask->more = *(*opts)->more;
	}
	if (ask->more.session != NULL && l->owns_session)
		return lhi_fail(-EINVAL, "a session is given for '%.64s', but "
		    "this handle has one of its own", l->key);
	error = l->owns_session ? make_own(l, lh) : 0;
	if (error != 0)
		return error;
	if (ask->more.session == NULL)
		ask->more.session = l->session;
	ask->opts.more = &ask->more;
	*opts = &ask->opts;
	return 0;
}

void
lhi_live_session_end(struct lh_lock *l)
{
	if (!l->owns_session || l->session == NULL ||
	    lhi_mutant_on(own_session_stays))
		return;
	lhi_fail_mute(1);
	(void)lh_session_destroy(l->session);
	lhi_fail_mute(0);
}

int
lh_lock_session(struct lh_lock *l, struct lh_session **out)
{
	int error = l == NULL ? lhi_fail(-EINVAL, "no live handle was given "
	    "(NULL)") : lhi_live_check_epoch(l->epoch);
	struct lh_session *s;

	if (error == 0 && out == NULL)
		error = lhi_fail(-EINVAL, "nowhere to put the session (NULL)");
	if (error != 0)
		return error;
	lhi_live_lock();
	s = l->session;
	lhi_live_unlock();
	if (s == NULL)
		return lhi_fail(-ENOENT, "the handle of '%.64s' has no "
		    "session%s", l->key, l->owns_session ? " yet: it has "
		    "acquired nothing" : " but the attachment's");
	*out = s;
	return 0;
}
