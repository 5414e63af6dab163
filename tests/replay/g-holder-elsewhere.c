/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G6, counted re-entry: a holder's lease in a named session is
 * converted through another attachment, of which this attachment does not know.
 * A call that acquires the key for that holder must not wait for a conversion
 * that has ended: the key, which others read by now, can be acquired for
 * reading.
 *
 * Otherwise the holder's own process would wait for itself until its time is
 * over.
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
	is(lh_acquire(lh, "k", &o, &a), 0,
	    "holder h acquires the key into a session");
	is(lh_convert(other, &a, LH_SHARED), 0,
	    "another attachment downgrades it");
	o.mode = LH_SHARED;
	more.holder = NULL;
	is(lh_acquire(lh, "k", &o, &stranger), 0, "others can read the key");
	more.holder = "h";
	o.max_wait_ms = 300;
	is(lh_acquire(lh, "k", &o, &b), 0, "so can holder h");
	replay_session_end(s);
	t_close(other);
	t_close(lh);
	return done();
}
