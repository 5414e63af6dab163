/* SPDX-License-Identifier: MIT */
/*
 * Handles of named sessions: see session.h.  shm/session_named.c describes the
 * sessions, and begins and ends them.  A handle is private to its process, and
 * holds only the session's number.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <leasehold.h>
#include "base/error.h"
#include "base/random.h"
#include "live/session_handle.h"
#include "op/handoff.h"
#include "shm/damaged.h"
#include "shm/session_liveness.h"
#include "shm/session_named.h"
#include "shm/session_reclaim.h"
#include "shm/table_age.h"

#define OPEN_FLAGS (LH_NO_CREATE | LH_CREATE_ONLY | LH_SESSION_WITH_MAKER)
#define TTL_MIN_MS 100
#define OPEN_TRIES 20

_Static_assert(LH_SESSION_NAME_MAX == NAMED_NAME_MAX, "names");
_Static_assert(LH_LOCK_DELAY_MAX_MS == NAMED_DELAY_MAX_MS, "lock-delay");
_Static_assert((int)LH_ON_END_DELETE == (int)NAMED_DELETE, "ends");

static int
check_opts(const char *name, const struct lh_session_opts *o)
{
	size_t len = name == NULL ? 1 : strnlen(name, NAMED_NAME_MAX + 1);

	if (o->size != sizeof(*o))
		return lhi_fail(-EINVAL, "session options of %zu bytes: set "
		    "them with LH_SESSION_OPTS_INIT", o->size);
	if ((o->flags & ~OPEN_FLAGS) != 0 || o->on_end > LH_ON_END_DELETE)
		return lhi_fail(-EINVAL, "unknown flag in 0x%x, or end %u",
		    o->flags, o->on_end);
	if ((o->flags & LH_NO_CREATE) && (o->flags & LH_CREATE_ONLY ||
	    name == NULL))
		return lhi_fail(-EINVAL, "LH_NO_CREATE, and a session that is "
		    "to be made");
	if (o->pid != 0 && (o->flags & LH_SESSION_WITH_MAKER) != 0)
		return lhi_fail(-EINVAL, "a session that is bound to a process "
		    "(pid) ends with that process: without "
		    "LH_SESSION_WITH_MAKER");
	if (o->pid == 0 && (o->ttl_ms < TTL_MIN_MS ||
	    o->ttl_ms > LH_SESSION_TTL_MAX_MS))
		return lhi_fail(-EINVAL, "a session ttl of %lld ms: use 100 ms "
		    "to 30 days", (long long)o->ttl_ms);
	if (o->lock_delay_ms < 0 || o->lock_delay_ms > LH_LOCK_DELAY_MAX_MS)
		return lhi_fail(-EINVAL, "a lock-delay of %lld ms: use 0 to 10 "
		    "minutes", (long long)o->lock_delay_ms);
	if (len == 0)
		return lhi_fail(-EINVAL, "the session's name is empty");
	return len <= NAMED_NAME_MAX ? 0 : lhi_fail(-ENAMETOOLONG, "the "
	    "session's name is longer than %u bytes", NAMED_NAME_MAX);
}

/* Finds it, or makes it. Returns 0; -errno. (With cancellation off.) */
static int
find_or_make(struct lh *lh, const struct lhi_named_wish *wish, uint32_t flags,
    uint64_t *sid)
{
	int error = -ESTALE;

	for (int i = 0; error == -ESTALE && i < OPEN_TRIES; i++) {
		if (lhi_view_retired(&lh->v))
			return lhi_view_fresh(&lh->v);
		error = lhi_table_age_check(&lh->v, lhi_now_ns(&lh->v));
		if (error != 0)
			return error;
		if (flags & LH_NO_CREATE)
			error = lhi_named_find(&lh->v, wish->name, sid) ?
			    -EEXIST : lhi_damaged_or(&lh->v, lhi_fail(-ENOENT,
			    "there is no session '%.31s' in table %s",
			    wish->name, lh->name));
		else
			error = lhi_named_make(&lh->v, wish, sid);
		if (error == -EEXIST && (flags & LH_CREATE_ONLY))
			return lhi_fail(-EEXIST, "there is a session '%.31s' "
			    "in table %s", wish->name, lh->name);
		/* a maker may have been stopped for a whole ttl */
		if (error == -EEXIST && wish->ttl_ms == 0 && !lhi_bound_is_to(
		    &lh->v.sessions[sid_idx(*sid)], &wish->bound))
			return lhi_fail(-EEXIST, "there is a session '%.31s' "
			    "in table %s, and it is not bound to process %d; "
			    "use another name", wish->name, lh->name,
			    (int)wish->bound.pid);
		if (error == 0 || error == -EEXIST)
			error = lhi_named_renew(&lh->v, *sid);
	}
	return error != -ESTALE ? error : lhi_fail(-EAGAIN, "session '%.31s' "
	    "ends as often as it is opened", wish->name);
}

int
lh_session_open(struct lh *lh, const char *name,
    const struct lh_session_opts *opts, struct lh_session **out)
{
	static const struct lh_session_opts usual = LH_SESSION_OPTS_INIT;
	const struct lh_session_opts *o = opts == NULL ? &usual : opts;
	struct lhi_named_wish wish;
	struct lhi_bound bound = { 0, 0, 0 };
	char own[NAMED_NAME_MAX + 1];
	unsigned long long number = 0;
	int saved = errno, cancel;
	/* who only looks makes none, but may find one, to destroy it */
	int error = o->flags & LH_NO_CREATE ? lhi_own_to_look(lh) : lhi_own(lh);
	struct lh_session *s;

	if (error == 0 && out == NULL)
		error = lhi_fail(-EINVAL, "nowhere to put the handle (NULL)");
	if (error == 0)
		error = check_opts(name, o);
	if (error == 0 && o->pid != 0)
		error = lhi_bound_identify(&lh->v, o->pid, &bound);
	if (error == 0 && name == NULL)
		error = lhi_random_fill(&number, sizeof(number));
	if (error != 0)
		return error;
	if (name == NULL)
		(void)snprintf(own, sizeof(own), "s-%016llx", number);
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return lhi_fail(-ENOMEM, "out of memory");
	wish = (struct lhi_named_wish){
		.name = name == NULL ? own : name,
		.maker = o->flags & LH_SESSION_WITH_MAKER ? lh->sid : 0,
		.ttl_ms = o->pid != 0 ? 0 : (uint32_t)o->ttl_ms,
		.bound = bound,
		.lock_delay_ms = (uint32_t)o->lock_delay_ms,
		.on_end = o->on_end,
	};
	s->lh = lh;
	/*
	 * a thread that is cancelled in here would keep a record's byte, so
	 * that the record could not be reclaimed as long as its process lives
	 */
	(void)pthread_setcancelstate(lhi_mutant_on(burier_cancellable) ?
	    PTHREAD_CANCEL_ENABLE : PTHREAD_CANCEL_DISABLE, &cancel);
	error = find_or_make(lh, &wish, o->flags, &s->sid);
	(void)pthread_setcancelstate(cancel, NULL);
	if (error == 0)
		error = lhi_damaged_or(&lh->v, 0);
	if (error != 0)
		free(s);
	else
		*out = s;
	errno = saved;
	return error;
}

int
lhi_session_check(const struct lh_session *s)
{
	return s == NULL ? lhi_fail(-EINVAL, "no session was given (NULL)") :
	    lhi_own_to_look(s->lh);
}

int
lhi_session_fail_ended(const struct lh_session *s)
{
	return lhi_damaged_or(&s->lh->v, lhi_fail(-ESTALE, "the session has "
	    "ended: its leases are lost; open it anew"));
}

int64_t
lh_session_renew(struct lh_session *s)
{
	int error = lhi_session_check(s);
	uint32_t ttl_ms;

	if (error != 0)
		return error;
	/* before that: afterwards the record may be another's */
	ttl_ms = sh32_load(&s->lh->v.sessions[sid_idx(s->sid)].ttl_ms);
	error = lhi_named_renew(&s->lh->v, s->sid);
	if (error != 0)
		return error == -EOVERFLOW ? error : lhi_session_fail_ended(s);
	error = lhi_damaged_or(&s->lh->v, 0);
	return error != 0 ? error : (int64_t)ttl_ms;
}

int
lh_session_destroy(struct lh_session *s)
{
	int error = lhi_session_check(s), done, cancel;

	if (error != 0)
		return error;
	if (lhi_named_end(&s->lh->v, s->sid))
		s->destroyed = true;
	if (!s->destroyed && lhi_named_cause(&s->lh->v, s->sid) !=
	    CAUSE_RELEASED)
		return lhi_session_fail_ended(s);
	(void)pthread_setcancelstate(lhi_mutant_on(burier_cancellable) ?
	    PTHREAD_CANCEL_ENABLE : PTHREAD_CANCEL_DISABLE, &cancel);
	done = lhi_session_reclaim(&s->lh->v, s->sid);	/* as above */
	(void)pthread_setcancelstate(cancel, NULL);
	return done < 0 ? done : lhi_damaged_or(&s->lh->v, 0);
}
