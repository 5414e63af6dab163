/* SPDX-License-Identifier: MIT */
/*
 * A reader's lease that was revived (13: its claim was idle) is in another use
 * than its push.  While somebody tries to upgrade it, in vain, whoever else
 * presents it is not told that it is lost, and may release it (G8, G9, G11).
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
		is(lh_release(lh, &a), 0, "... and free");
		is(lh_acquire(other, key, &o, &r), 0, "another reader");
		is(lh_acquire(lh, key, &o, &a), 0, "a lease");
		id = a.id[1];
		is(lh_release(lh, &a), 0, "left idle");
		is(lh_acquire(lh, key, &o, &a), 0, "and again");
		ok(a.id[1] == id + 1, "the same claim's next use: revived");
		is(lh_release(other, &r), 0, "alone");
		b = a;
		replay_stop("A", "convert.announced", up, &a);
		is(lh_acquire(other, key, &o, &r), 0, "another reader");
		error = meanwhile(i, &b);
		is(error, 0, "%s: it is held", what[i]);
		is(replay_finish("A"), i < 2 ? -EAGAIN : -ESTALE,
		    "the upgrade");
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
