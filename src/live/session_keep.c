/* SPDX-License-Identifier: MIT */
/* Named sessions that a thread of this process keeps, and the end of that.
 * session_renewal.c renews them. */
#include <errno.h>
#include "base/error.h"
#include "base/handle.h"
#include "live/live_set.h"
#include "live/session_handle.h"
#include "live/session_renewal.h"
#include "shm/session_named.h"

int
lh_session_keep(struct lh_session *s, int on)
{
	int saved = errno, error = lhi_session_check(s);

	if (error != 0)
		return error;
	error = lhi_named_renew(&s->lh->v, s->sid);
	if (error != 0)
		return error == -EOVERFLOW ? error : lhi_session_fail_ended(s);
	if (sh32_load(&s->lh->v.sessions[sid_idx(s->sid)].ttl_ms) == 0)
		return 0;	/* bound to a process: nothing to renew */
	lhi_live_lock();
	if (on != 0)
		error = lhi_live_thread();
	if (error == 0 && on != 0)
		lhi_session_renewal_begin(s);
	else
		lhi_session_renewal_end(s);
	lhi_live_unlock();
	errno = saved;
	return error;
}

void
lh_session_close(struct lh_session *s)
{
	if (s == NULL || s->lh == &lhi_closed_lh)
		return;
	lhi_live_lock();
	lhi_session_renewal_end(s);
	lhi_live_unlock();
	s->lh = &lhi_closed_lh;
	lhi_handle_free(HANDLE_SESSION, s);
}
