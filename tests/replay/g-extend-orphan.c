/* SPDX-License-Identifier: MIT */
/*
 * Lock-delay: who extends, or converts, a lease of a named session is stopped
 * until that has ended, and the lease's deadline has passed as well, and nobody
 * looked meanwhile.  He is told that it is lost, and the key is kept back: it
 * is not for him to say that the lease ran out.
 */
#include <errno.h>
#include "replay.h"
#include "support/object.h"

#define DELAY_MS 60000

struct with {
	struct lh *lh;
	struct lh_lease lease;
};

static int
extend(void *arg)
{
	struct with *w = arg;

	return lh_extend(w->lh, &w->lease, REPLAY_LONG_MS);
}

static int
downgrade(void *arg)
{
	struct with *w = arg;

	return lh_convert(w->lh, &w->lease, LH_SHARED);
}

static void
too_late(struct lh *lh, const char *key, const char *point,
    int (*what)(void *arg))
{
	struct with w = { .lh = replay_open(lh_table_name(lh), 0) };
	struct lh_session *s = replay_session(w.lh, key, t_ms(400), DELAY_MS);
	struct lh_acquire_opts o = t_opts(t_ms(500), 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_lease l;

	more.session = s;
	o.more = &more;
	is(lh_acquire(w.lh, key, &o, &w.lease), 0, "a lease in a session");
	replay_stop("presenter", point, what, &w);
	t_sleep_ms(t_ms(600));		/* its end, then the deadline */
	is(replay_finish("presenter"), -ESTALE, "it is lost");
	is(replay_try(lh, key, &l), -EAGAIN, "its key is kept back (%s)",
	    point);
	lh_session_close(s);
	t_close(w.lh);
}

int
main(void)
{
	struct lh *lh = replay_open(replay_begin(), 0);

	too_late(lh, "before", "extend.checked", extend);
	too_late(lh, "after", "extend.swapped", extend);
	too_late(lh, "convert", "convert.swapped", downgrade);
	too_late(lh, "looked", "convert.looked", downgrade);
	t_close(lh);
	return done();
}
