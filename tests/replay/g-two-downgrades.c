/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G2 and G9: two threads downgrade one exclusive lease at once, in a
 * table where each grant draws a token of its own (LH_TOKENS_GLOBAL). One of
 * them must succeed, and the lease that it returns must be the one that is
 * held.
 *
 * Otherwise the later thread's token would stand in the claim, and the
 * successful caller's lease would count as lost.
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
	is(lh_open(&other, table, &oo), 0, "another attachment");
	is(lh_acquire(lh, "k", &o, &a), 0, "a lease");
	b = a;
	replay_stop("A", "convert.prepared", down, &a);
	replay_stop("B", "convert.prepared", down, &b);
	is(replay_finish("A"), 0, "the first downgrade succeeds");
	is(lh_verify(lh, &a), 0, "the first thread's lease is held");
	is(replay_finish("B"), -ESTALE, "the second downgrade is too late");
	is(lh_verify(lh, &a), 0, "the first thread's lease is held");
	is(lh_verify_token(lh, "k", a.token), 0, "and so is its token");
	is(lh_release(lh, &a), 0, "it is released");
	is(replay_try(other, "k", &n), 0, "the key is free");
	t_close(other);
	t_close(lh);
	return done();
}
