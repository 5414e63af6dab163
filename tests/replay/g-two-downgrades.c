/* SPDX-License-Identifier: MIT */
/*
 * Two threads make one exclusive lease a reader's at once, where each grant
 * draws a token of its own (LH_TOKENS_GLOBAL): one of them does it, and the
 * lease that it is told of is the one that is held.
 */
#include <errno.h>
#include "replay.h"

static struct lh *lh, *other;

static int
down(void *arg)
{
	return lh_convert(lh, arg, LH_SHARED);
}

int
main(void)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_open_opts oo = replay_opts(0);
	const char *table = replay_begin();
	struct lh_lease a, b, n;

	oo.flags |= LH_TOKENS_GLOBAL;
	is(lh_open(&lh, table, &oo), 0, "open");
	is(lh_open(&other, table, &oo), 0, "another");
	is(lh_acquire(lh, "k", &o, &a), 0, "a lease");
	b = a;
	replay_stop("A", "convert.prepared", down, &a);
	replay_stop("B", "convert.prepared", down, &b);
	is(replay_finish("A"), 0, "the first makes it a reader's");
	is(lh_verify(lh, &a), 0, "it is held");
	is(replay_finish("B"), -ESTALE, "the second is too late");
	is(lh_verify(lh, &a), 0, "it is held");
	is(lh_verify_token(lh, "k", a.token), 0, "and so is its token");
	is(lh_release(lh, &a), 0, "it is released");
	is(replay_try(other, "k", &n), 0, "the key is free");
	t_close(other);
	t_close(lh);
	return done();
}
