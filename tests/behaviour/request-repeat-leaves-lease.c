/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G10 and G11: a request is repeated with a value that cannot be
 * set, because its lease is shared: the repeated call fails, and the lease of
 * the first call is not changed.
 *
 * Otherwise a failed repetition would release a key that is in use.
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
