/* SPDX-License-Identifier: MIT */
/*
 * Lock-delay: who verifies a lease of a cluster key, of a named session, is
 * stopped until that has ended, and this host's right with it.  The key is kept
 * back when the right has come back: it is not for him to say that the lease
 * ran out.
 */
#include <errno.h>
#include "lent.h"

#define DELAY_MS 60000

struct with {
	struct lh *lh;
	struct lh_lease lease;
};

static int
verify(void *arg)
{
	struct with *w = arg;

	return lh_verify(w->lh, &w->lease);
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0);
	struct with w = { .lh = replay_open(table, 0) };
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_lease l;

	lent_begin(table);
	lent_give(REPLAY_LONG_MS);
	more.session = replay_session(w.lh, "s", t_ms(400), DELAY_MS);
	o.more = &more;
	is(lh_acquire(w.lh, LENT_KEY, &o, &w.lease), 0, "a lease in a session");
	replay_stop("presenter", "right.read", verify, &w);
	t_sleep_ms(t_ms(500));		/* its end */
	lent_pass();
	is(replay_finish("presenter"), -ESTALE, "it is lost");
	lent_until_in_ms(REPLAY_LONG_MS);
	is(replay_try(lh, LENT_KEY, &l), -EAGAIN, "its key is kept back");
	lh_session_close(more.session);
	t_close(w.lh);
	t_close(lh);
	t_close(lent_shim);
	return done();
}
