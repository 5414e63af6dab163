/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4: a named session that is to end with its maker
 * (LH_SESSION_WITH_MAKER) ends when the maker is dead, also if the maker's
 * session record belongs to another named session by then.
 *
 * Otherwise the session would seem to have a living maker, and its keys would
 * stay held after the death.
 */
#include <errno.h>
#include "replay.h"

static const char *table;

static int
make(void *unused)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh_session *s;
	struct lh_lease l, own;
	struct lh *lh = replay_open(table, 0);

	(void)unused;
	o.flags = LH_SESSION_WITH_MAKER;
	o.ttl_ms = REPLAY_LONG_MS;
	if (lh_session_open(lh, "s", &o, &s) != 0 ||
	    replay_into(lh, "ks", s, LH_POLICY_LEASE, LH_EXCLUSIVE, &l) != 0 ||
	    replay_try(lh, "own", &own) != 0 ||
	    lh_key_create(lh, "z") != 0)
		return 1;
	return lh_destroy(lh, "z");
}

static void
play_all(void)
{
	struct lh_session *t;
	struct lh_lease l;
	struct lh *lh;
	int error = -EAGAIN;

	table = replay_begin();
	lh = replay_open(table, 0);
	replay_killed_at("maker", "destroy.unkept", make, NULL);
	for (int i = 0; i < 200 && error == -EAGAIN; i++) {
		error = replay_try(lh, "own", &l);
		t_sleep_ms(5);
	}
	is(error, 0, "the maker is seen to be dead");
	is(lh_session_open(lh, "t", NULL, &t), 0, "another session is made");
	error = -EAGAIN;
	for (int i = 0; i < 40 && error == -EAGAIN; i++) {
		error = replay_try(lh, "ks", &l);
		t_sleep_ms(5);
	}
	is(error, 0, "the first session has ended with its maker: %s",
	    lh_error_detail());
	lh_session_close(t);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 290, "maker followed");
	return done();
}
