/* SPDX-License-Identifier: MIT */
/*
 * A request is repeated with a value that cannot be set (its lease is a shared
 * one): the repeat is told so, and the lease that the first call was granted is
 * not touched (G10, G11).
 */
#include <errno.h>
#include "support/support.h"
#include "tap.h"

int
main(void)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(60000, 0);
	struct lh *lh = t_open(t_table());
	struct lh_lease a, b;

	more.request[0] = 1;
	more.request[1] = 2;
	o.more = &more;
	o.mode = LH_SHARED;
	is(lh_acquire(lh, "k", &o, &a), 0, "granted, in shared mode");
	o.mode = LH_EXCLUSIVE;
	more.value = "v";
	more.value_len = 1;
	is(lh_acquire(lh, "k", &o, &b), -EINVAL, "repeated with a value");
	is(lh_verify(lh, &a), 0, "the lease is held still");
	more.value = NULL;
	is(lh_acquire(lh, "k", &o, &b), 0, "repeated without");
	ok(a.token == b.token, "the same lease");
	is(lh_release(lh, &a), 0, "release");
	t_close(lh);
	return done();
}
