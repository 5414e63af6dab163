/* SPDX-License-Identifier: MIT */
/*
 * Who makes an exclusive lease a reader's is stopped when he has won its state,
 * before he writes its claim's grant; the lease is released by another thread.
 * Its claim's next exclusive lease is made a reader's as well: that has its own
 * token in its grant, whatever the first one writes late.
 */
#include <errno.h>
#include "replay.h"

static struct lh *lh;

static int
down(void *l)
{
	return lh_convert(lh, l, LH_SHARED);
}

int
main(void)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	const char *table = replay_begin();
	struct lh *other;
	struct lh_lease a, b, x;

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	is(lh_acquire(lh, "k", &o, &a), 0, "a lease");
	b = a;
	replay_stop("A", "convert.announced", down, &b);
	is(lh_release(lh, &a), 0, "released meanwhile");
	is(lh_acquire(lh, "k", &o, &a), 0, "the next one");
	ok(a.id[1] >> 42 == b.id[1] >> 42, "of the same claim");
	replay_stop("B", "convert.prepared", down, &a);
	is(replay_finish("A"), -ESTALE, "the first one comes too late");
	is(replay_finish("B"), 0, "the second is a reader's now");
	is(lh_verify(lh, &a), 0, "and is held");
	is(lh_release(lh, &a), 0, "and released");
	is(replay_try(other, "k", &x), 0, "the key is free");
	(void)lh_release(other, &x);
	t_close(other);
	t_close(lh);
	return done();
}
