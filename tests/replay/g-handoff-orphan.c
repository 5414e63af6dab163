/* SPDX-License-Identifier: MIT */
/*
 * Lock-delay: who hands a lease over to a named session is stopped after the
 * key is that session's, until it has ended.  He is told that it is lost, and
 * the key is kept back: as if he had been killed there.
 */
#include <errno.h>
#include "replay.h"
#include "support/object.h"

#define DELAY_MS 60000

struct with {
	struct lh *lh;
	struct lh_lease lease;
	struct lh_session *s;
};

static int
hand(void *arg)
{
	struct with *w = arg;

	return lh_handoff(w->lh, &w->lease, w->s);
}

static void
too_late(struct lh *lh, const char *key, const char *point, uint32_t mode)
{
	struct with w = { .lh = replay_open(lh_table_name(lh), 0) };
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_lease l;

	w.s = replay_session(w.lh, key, t_ms(400), DELAY_MS);
	o.mode = mode;
	is(lh_acquire(w.lh, key, &o, &w.lease), 0, "a lease");
	replay_stop("giver", point, hand, &w);
	t_sleep_ms(t_ms(500));		/* its end */
	is(replay_finish("giver"), -ESTALE, "it is lost");
	is(replay_try(lh, key, &l), -EAGAIN, "its key is kept back (%s)",
	    point);
	lh_session_close(w.s);
	t_close(w.lh);
}

int
main(void)
{
	struct lh *lh = replay_open(replay_begin(), 0);

	too_late(lh, "swapped", "handoff.swapped", LH_EXCLUSIVE);
	too_late(lh, "let-go", "handoff.let_go", LH_EXCLUSIVE);
	t_close(lh);
	return done();
}
