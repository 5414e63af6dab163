/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G9: a thread that downgrades an exclusive lease is stopped when it
 * has won the claim's state, before it writes the claim's grant.  The lease is
 * released by another thread, and the claim's next exclusive lease is
 * downgraded as well.  That one must have its own token in its grant, whatever
 * the first thread writes late.
 *
 * Otherwise the new reader's lease would not match its token: it would count as
 * lost, and the key would stay held.
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
	is(lh_acquire(lh, "k", &o, &a), 0, "the next lease");
	ok(a.id[1] >> 42 == b.id[1] >> 42, "has the same claim");
	replay_stop("B", "convert.prepared", down, &a);
	is(replay_finish("A"), -ESTALE, "the first downgrade is too late");
	is(replay_finish("B"), 0, "the second downgrade succeeds");
	is(lh_verify(lh, &a), 0, "its lease is held");
	is(lh_release(lh, &a), 0, "and released");
	is(replay_try(other, "k", &x), 0, "the key is free");
	(void)lh_release(other, &x);
	t_close(other);
	t_close(lh);
	return done();
}
