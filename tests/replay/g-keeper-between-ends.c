/* SPDX-License-Identifier: MIT */
/*
 * A lease of a named session that nobody looked at until its deadline and the
 * session's end had passed counts as ended by the latter, and its key is kept
 * back; also if the first to come upon it is a keeper who was stopped before
 * the session had ended.
 */
#include <errno.h>
#include "replay.h"
#include "support/object.h"

#define DELAY_MS 60000

struct into {
	struct lh *lh;
	struct lh_session *s;
	struct lh_lease lease;
};

static int
acquire(void *arg)
{
	struct into *x = arg;

	return replay_into(x->lh, "other", x->s, LH_POLICY_LEASE,
	    LH_EXCLUSIVE, &x->lease);
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0);
	struct into x = { .lh = replay_open(table, 0) };
	struct lh_acquire_opts o = t_opts(t_ms(300), 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_lease l;

	x.s = replay_session(x.lh, "s", t_ms(200), DELAY_MS);
	more.session = x.s;
	o.more = &more;
	is(lh_acquire(x.lh, "k", &o, &l), 0, "a lease in a named session");
	replay_stop("keeper", "tenant.kept", acquire, &x);
	t_sleep_ms(t_ms(350));		/* its end, then the deadline */
	(void)replay_finish("keeper");
	is(replay_try(lh, "k", &l), -EAGAIN, "its key is kept back");
	lh_session_close(x.s);
	t_close(x.lh);
	t_close(lh);
	return done();
}
