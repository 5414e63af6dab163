/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2: a table without a fence file refuses scope local, says how to
 * make one with a fence file, and has made no key; scope ephemeral works.
 * Quorum is always refused.
 *
 * Otherwise a program would rely on tokens that do not survive a reboot.
 */
#include "fence.h"

static void
refused(struct lh *lh, uint32_t scope, const char *says)
{
	struct lh_acquire_opts a = t_opts(60000, 0);
	struct lh_lease l;
	struct lh_key *k;

	a.scope = scope;
	is(lh_acquire(lh, "new", &a, &l), -EOPNOTSUPP, "by name: refused");
	ok(strstr(lh_error_detail(), says) != NULL, "saying \"%s\"", says);
	is(t_holders(lh, "new"), -ENOENT, "no key was made");
	is(lh_key_open(lh, "key", 0, &k), 0, "a key is opened");
	for (uint32_t mode = 0; mode <= LH_SHARED; mode++) {
		a.mode = mode;
		is(lh_key_acquire(k, &a, &l), -EOPNOTSUPP,
		    "opened, mode %u: refused", mode);
	}
	a.mode = LH_EXCLUSIVE;
	a.scope = LH_EPHEMERAL;
	is(lh_key_acquire(k, &a, &l), 0, "ephemeral: granted");
	is(lh_release(lh, &l), 0, "released");
	a.scope = scope;
	is(lh_key_acquire(k, &a, &l), -EOPNOTSUPP, "still refused");
	is(lh_key_close(k), 0, "closed");
}

int
main(void)
{
	const char *table = t_table(), *durable = t_table();
	struct lh *lh = t_open(table), *fenced = fence_open(durable);
	struct lh_acquire_opts a = t_opts(60000, 0);
	struct lh_lease l;

	refused(lh, LH_LOCAL, "--durable");
	refused(lh, LH_QUORUM, "cluster");
	refused(fenced, LH_QUORUM, "cluster");
	a.scope = 3;
	is(lh_acquire(fenced, "key", &a, &l), -EINVAL, "no such scope");
	t_close(lh);
	t_close(fenced);
	return done();
}
