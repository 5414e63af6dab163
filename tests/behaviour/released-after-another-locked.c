/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G10 and G11: a release that is repeated after somebody else has
 * acquired the key succeeds for the caller and changes nothing for the other
 * holder: a client does that when its first answer got lost.  The very struct
 * again succeeds each time; a copy from before the release, which looks like a
 * lost lease, may succeed or return -ESTALE. Neither may touch the successor,
 * even if that is a lease of the same process in the same memory.
 *
 * Otherwise a lost answer would end the lease of the next holder.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

static void
again(struct lh *lh, struct lh_lease *released, struct lh_lease *copy)
{
	int r;

	is(lh_release(lh, released), 0, "releasing it again is success");
	is(lh_release(lh, released), 0, "and once more");
	r = lh_release(lh, copy);
	ok(r == 0 || r == -ESTALE, "a copy of it is released or stale");
	is(lh_extend(lh, copy, 1000), -ESTALE, "a copy cannot be extended");
	is(lh_verify(lh, copy), -ESTALE, "nor is it verified");
}

int
main(void)
{
	const char *table = t_table();
	struct t_actor *b = t_actor(table);
	struct lh *lh = t_open(table);
	struct lh_lease mine = t_hold(lh, "k"), copy = mine, other;

	is(lh_release(lh, &mine), 0, "released");
	is(t_do_acquire(b, "k", 3600000, 0), 0, "another process takes it");
	again(lh, &mine, &copy);
	is(t_do_verify(b), 0, "the other's lease is as it was");
	is(t_acquire(lh, "k", 1000, 0, &other), -EAGAIN, "and excludes");
	is(lh_verify_token(lh, "k", b->lease.token), 0, "with its token");
	is(t_do_release(b), 0, "the other releases its own");

	mine = t_hold(lh, "k");
	copy = mine;
	is(lh_release(lh, &mine), 0, "the same within one process: released");
	other = t_hold(lh, "k");
	again(lh, &mine, &copy);
	is(lh_verify(lh, &other), 0, "the younger lease is as it was");
	is(t_do_acquire(b, "k", 1000, 0), -EAGAIN, "and excludes");
	is(lh_release(lh, &other), 0, "and is released by its own struct");

	mine = t_hold(lh, "k");
	copy = mine;
	is(lh_release(lh, &mine), 0, "and with another key: released");
	other = t_hold(lh, "l");
	again(lh, &mine, &copy);
	is(lh_verify(lh, &other), 0, "the other key's lease is as it was");
	is(t_do_acquire(b, "l", 1000, 0), -EAGAIN, "and excludes");
	is(lh_release(lh, &other), 0, "and is released by its own struct");

	t_actor_end(b);
	t_close(lh);
	return done();
}
