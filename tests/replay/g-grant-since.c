/* SPDX-License-Identifier: MIT */
/*
 * Who has waited for a key is stopped when he has it, before he says since
 * when.  Another thread finds the lease, and begins to make it a reader's; then
 * that is said.  The reader's lease has its grant all the same: it is held, and
 * can be released.
 */
#include <errno.h>
#include "replay.h"

static struct lh *lh, *other;

static int
down(void *l)
{
	return lh_convert(lh, l, LH_SHARED);
}

int
main(void)
{
	const char *table = replay_begin();
	struct replay_call a;
	struct lh_lease found, x;

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	a = (struct replay_call)REPLAY_CALL(lh, "k", REPLAY_LONG_MS, 4000);
	is(replay_try(other, "k", &x), 0, "a holder");
	replay_hold("A", "acquire.granted");
	replay_go("A", replay_acquire, &a);
	t_sleep_ms(30);
	is(lh_release(other, &x), 0, "released");
	replay_wait_held("A");
	is(replay_find(lh, "k", &found), 0, "the one that waited has it");
	replay_stop("B", "convert.announced", down, &found);
	is(replay_finish("A"), 0, "it is told so");
	is(replay_finish("B"), 0, "the other thread makes it a reader's");
	is(lh_verify(lh, &found), 0, "which is held");
	is(lh_release(lh, &found), 0, "and released");
	is(replay_try(other, "k", &x), 0, "the key is free");
	(void)lh_release(other, &x);
	t_close(other);
	t_close(lh);
	return done();
}
