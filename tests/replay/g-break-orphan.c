/* SPDX-License-Identifier: MIT */
/*
 * Lock-delay: an operator breaks a lease of a named session, and is stopped
 * before that until the session has ended.  Its key is kept back: there was
 * nothing left to break.
 */
#include <errno.h>
#include "replay.h"
#include "support/object.h"

#define DELAY_MS 60000

static int
break_it(void *lh)
{
	return lh_break(lh, "k", NULL, 0);
}

int
main(void)
{
	struct lh *lh = replay_open(replay_begin(), 0);
	struct lh *other = replay_open(lh_table_name(lh), 0);
	struct lh_session *s = replay_session(lh, "s", t_ms(400), DELAY_MS);
	struct lh_lease l;

	is(replay_into(lh, "k", s, LH_POLICY_LEASE, LH_EXCLUSIVE, &l), 0,
	    "a lease in a session");
	replay_stop("operator", "break.seen", break_it, other);
	t_sleep_ms(t_ms(500));		/* its end */
	is(replay_finish("operator"), 0, "none is broken");
	is(replay_try(other, "k", &l), -EAGAIN, "the key is kept back");
	lh_session_close(s);
	t_close(other);
	t_close(lh);
	return done();
}
