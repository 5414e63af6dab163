/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G9: two threads present one reader's lease.  One tries to upgrade
 * it, which fails because another reader comes; the other upgrades, converts,
 * hands over or recalls it meanwhile.  Neither may report the lease lost,
 * because it is held all the time.
 *
 * Otherwise a holder would stop its work, or acquire again, although it still
 * holds the key.
 */
#include <errno.h>
#include "replay.h"

static struct lh *lh, *other;
static struct lh_session *s;

static int
up(void *arg)
{
	return lh_convert(lh, arg, LH_EXCLUSIVE);
}

static int
meanwhile(int which, struct lh_lease *l)
{
	struct lh_lease again;

	switch (which) {
	case 0:
		return lh_convert(lh, l, LH_EXCLUSIVE);
	case 1:
		return lh_convert(lh, l, LH_SHARED);
	case 2:
		return lh_handoff(lh, l, s);
	default:
		return lh_lease_recall(lh, "k", l->id, l->token, &again);
	}
}

int
main(void)
{
	static const char *const what[] = { "upgrade", "stay", "hand over",
	    "recall" };
	struct lh_session_opts so = LH_SESSION_OPTS_INIT;
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	const char *table = replay_begin();
	struct lh_lease a, b, r;
	int error;

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	is(lh_session_open(lh, "s", &so, &s), 0, "a session");
	o.mode = LH_SHARED;
	for (int i = 0; i < 4; i++) {
		is(lh_acquire(lh, "k", &o, &a), 0, "a lease");
		b = a;
		replay_stop("A", "convert.announced", up, &a);
		is(lh_acquire(other, "k", &o, &r), 0, "another reader");
		error = meanwhile(i, &b);
		is(replay_finish("A"), -EAGAIN, "the upgrade fails");
		is(lh_verify(lh, &a), 0, "the lease is held");
		ok(error != -ESTALE, "%s: the lease is not reported lost (%d)",
		    what[i], error);
		is(lh_release(other, &r), 0, "release");
		is(lh_release(lh, &a), 0, "release");
	}
	lh_session_close(s);
	t_close(other);
	t_close(lh);
	return done();
}
