/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G8, G9 and G11: a reader's lease that was revived (its claim was
 * idle, claim #13) is in another use than its push.  A thread tries to upgrade
 * the lease, which fails.  Meanwhile a second thread that verifies, extends or
 * releases the lease must succeed.
 *
 * Otherwise the holder would stop its work although it holds the key.
 */
#include <errno.h>
#include "replay.h"

static struct lh *lh, *other;

static int
up(void *arg)
{
	return lh_convert(lh, arg, LH_EXCLUSIVE);
}

static int
meanwhile(int which, struct lh_lease *l)
{
	switch (which) {
	case 0:
		return lh_verify(lh, l);
	case 1:
		return lh_extend(lh, l, REPLAY_LONG_MS);
	default:
		return lh_release(lh, l);
	}
}

int
main(void)
{
	static const char *const what[] = { "verify", "extend", "release" };
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	const char *table = replay_begin();
	struct lh_lease a, b, r, x;
	int error;

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	for (int i = 0; i < 3; i++) {
		char key[2] = { (char)('a' + i), '\0' };
		uint64_t id;

		o.mode = LH_SHARED;
		is(lh_acquire(lh, key, NULL, &a), 0, "the key is there");
		is(lh_release(lh, &a), 0, "and free");
		is(lh_acquire(other, key, &o, &r), 0, "another reader");
		is(lh_acquire(lh, key, &o, &a), 0, "a lease");
		id = a.id[1];
		is(lh_release(lh, &a), 0, "left idle");
		is(lh_acquire(lh, key, &o, &a), 0, "and read again");
		ok(a.id[1] == id + 1, "the same claim's next use: revived");
		is(lh_release(other, &r), 0, "it reads alone");
		b = a;
		replay_stop("A", "convert.announced", up, &a);
		is(lh_acquire(other, key, &o, &r), 0, "another reader");
		error = meanwhile(i, &b);
		is(error, 0, "%s: it is held", what[i]);
		is(replay_finish("A"), i < 2 ? -EAGAIN : -ESTALE,
		    "the upgrade fails");
		is(lh_release(other, &r), 0, "release");
		if (i < 2) {
			is(lh_verify(lh, &a), 0, "the lease is held");
			is(lh_release(lh, &a), 0, "release");
		}
		o.mode = LH_EXCLUSIVE;
		is(lh_acquire(other, key, &o, &x), 0, "the key is free");
		(void)lh_release(other, &x);
	}
	t_close(other);
	t_close(lh);
	return done();
}
