/* SPDX-License-Identifier: MIT */
/*
 * Lock-delay: as g-extend-orphan, but the named session has ended because its
 * maker was killed, which nobody has noticed yet.
 */
#include <errno.h>
#include <signal.h>
#include "replay.h"
#include "support/object.h"

#define DELAY_MS 60000

struct with {
	struct lh *lh;
	struct lh_lease lease;
};

static struct lh_session *
made(struct lh *lh, const char *name, uint32_t flags)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh_session *s = NULL;

	o.ttl_ms = REPLAY_LONG_MS;
	o.lock_delay_ms = DELAY_MS;
	o.flags = flags;
	is(lh_session_open(lh, name, &o, &s), 0, "a session");
	return s;
}

static const char *table;

static int
make(void *arg)
{
	struct lh *lh = replay_open(table, 0);

	(void)made(lh, arg, LH_SESSION_WITH_MAKER);
	lhi_hook("test.made", NULL);
	return 0;
}

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
too_late(const char *key, const char *point, int (*what)(void *arg))
{
	struct with *w = t_shared(sizeof(*w));
	struct lh_acquire_opts o = t_opts(t_ms(300), 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_lease l;
	struct lh *lh;

	replay_hold("maker", "test.made");
	(void)replay_fork("maker", make, (void *)(uintptr_t)key);
	replay_wait_held("maker");
	lh = replay_open(table, 0);
	w->lh = replay_open(table, 0);
	more.session = made(w->lh, key, LH_NO_CREATE);
	o.more = &more;
	is(lh_acquire(w->lh, key, &o, &w->lease), 0, "a lease in a session");
	replay_stop("presenter", point, what, w);
	replay_kill("maker");
	t_sleep_ms(t_ms(400));		/* its end, then the deadline */
	is(replay_finish("presenter"), -ESTALE, "it is lost");
	is(replay_try(lh, key, &l), -EAGAIN, "its key is kept back (%s)",
	    point);
	lh_session_close(more.session);
	t_close(w->lh);
	t_close(lh);
}

int
main(void)
{
	table = replay_begin();
	too_late("before", "extend.checked", extend);
	too_late("after", "extend.swapped", extend);
	too_late("convert", "convert.swapped", downgrade);
	too_late("looked", "convert.looked", downgrade);
	return done();
}
