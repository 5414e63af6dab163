/* SPDX-License-Identifier: MIT */
/*
 * Named sessions that are kept: renewed at ttl/2 by the thread of the live
 * handles, as long as their handle is open.
 *
 * A renewal that comes too late is refused (shm/session_named.c), and ends the
 * keeping; the next use of the session or its leases returns the error.  If the
 * thread is delayed by half a ttl, the next renewal is still in time.
 */
#include <bsd/sys/queue.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/handle.h"
#include "live/session_renewal.h"
#include "live/live_set.h"
#include "shm/session_named.h"

#define LEAST_MS 20u		/* whatever the record says */

static TAILQ_HEAD(kept, lh_session) kept = TAILQ_HEAD_INITIALIZER(kept);

static int64_t
half_ttl_ns(const struct lh_session *s)
{
	uint32_t ms = sh32_load_rlx(
	    &s->lh->v.sessions[sid_idx(s->sid)].ttl_ms);

	return (ms > LEAST_MS ? ms : LEAST_MS) * NS_PER_MS / 2;
}

void
lhi_session_renewal_begin(struct lh_session *s)
{
	if (!s->kept)
		TAILQ_INSERT_TAIL(&kept, s, of_kept);
	s->kept = true;
	s->due_ns = lhi_clock_ns(CLOCK_MONOTONIC) + half_ttl_ns(s);
	lhi_wakeup_wake();
}

void
lhi_session_renewal_end(struct lh_session *s)
{
	if (!s->kept)
		return;
	TAILQ_REMOVE(&kept, s, of_kept);
	s->kept = false;
	if (TAILQ_EMPTY(&kept))
		lhi_wakeup_wake();	/* to linger, and end */
}

void
lhi_session_forget(struct lh_session *s)
{
	lhi_session_renewal_end(s);
	lhi_handle_free(HANDLE_SESSION, s);
}

bool
lhi_session_renewal_serve(void)
{
	int64_t now = lhi_clock_ns(CLOCK_MONOTONIC);
	struct lh_session *s;

	TAILQ_FOREACH(s, &kept, of_kept) {
		if (s->due_ns > now)
			continue;
		if (lhi_named_renew(&s->lh->v, s->sid) != 0)
			lhi_session_renewal_end(s);
		else
			s->due_ns = now + half_ttl_ns(s);
		return true;
	}
	return false;
}

bool
lhi_session_renewal_has_any(void)
{
	return !TAILQ_EMPTY(&kept);
}

int64_t
lhi_session_renewal_next_ns(void)
{
	int64_t next = INT64_MAX;
	struct lh_session *s;

	TAILQ_FOREACH(s, &kept, of_kept)
		next = s->due_ns < next ? s->due_ns : next;
	return next;
}

void
lhi_session_renewal_closing(const struct lh *lh)
{
	struct lh_session *s, *next;

	TAILQ_FOREACH_SAFE(s, &kept, of_kept, next)
		if (s->lh == lh)
			lhi_session_renewal_end(s);
}

void
lhi_session_renewal_forget(void)
{
	struct lh_session *s;

	TAILQ_FOREACH(s, &kept, of_kept)
		s->kept = false;
	TAILQ_INIT(&kept);
}
