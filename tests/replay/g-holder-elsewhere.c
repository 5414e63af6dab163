/* SPDX-License-Identifier: MIT */
/*
 * G6, counted re-entry: a holder's lease in a named session is converted
 * through another attachment, which tells this one nothing.  Who asks for the
 * key as that holder is not kept waiting for that: here the lease has ended,
 * and the key, read by now, is to be had for reading.
 */
#include <errno.h>
#include "replay.h"

int
main(void)
{
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0), *other = replay_open(table, 0);
	struct lh_session *s = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_lease a = { 0 }, b = { 0 }, stranger;

	more.session = s;
	more.holder = "h";
	o.more = &more;
	is(lh_acquire(lh, "k", &o, &a), 0, "held by h, in a session");
	is(lh_convert(other, &a, LH_SHARED), 0, "converted elsewhere");
	o.mode = LH_SHARED;
	more.holder = NULL;
	is(lh_acquire(lh, "k", &o, &stranger), 0, "anybody may read");
	more.holder = "h";
	o.max_wait_ms = 300;
	is(lh_acquire(lh, "k", &o, &b), 0, "so may h");
	replay_session_end(s);
	t_close(other);
	t_close(lh);
	return done();
}
