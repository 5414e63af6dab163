/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G3: a live handle whose lease is extended to a sooner end
 * is not valid after that end, also while lh_lock_extend() has not returned.
 *
 * Otherwise another thread would go on under the handle while another process
 * holds the key.
 */
#include <errno.h>
#include "replay.h"

static int
shorten(void *l)
{
	return lh_lock_extend(l, 1, NULL);
}

static int
ask(void *l)
{
	return lh_lock_valid(l);
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0), *other = replay_open(table, 0);
	struct lh_lease q;
	struct lh_lock *l;

	is(lh_lock_open(lh, "k", NULL, &l), 0, "a handle");
	is(lh_lock_acquire(l, NULL), 0, "acquires");
	is(lh_lock_valid(l), 0, "valid");
	replay_stop("shortener", "live.renewed", shorten, l);
	t_sleep_ms(t_ms(20));
	is(replay_try(other, "k", &q), 0,
	    "after the new end another process acquires the key");
	replay_go("asker", ask, l);
	t_sleep_ms(t_ms(50));
	ok(replay_running("asker") || replay_result("asker") == -ESTALE,
	    "the handle is not valid meanwhile");
	is(replay_finish("shortener"), 0, "the shorter time was set");
	is(replay_result("asker"), -ESTALE, "nor after it");
	is(lh_release(other, &q), 0, "released");
	is(lh_lock_close(l), 0, "closed");
	t_close(other);
	t_close(lh);
	return done();
}
