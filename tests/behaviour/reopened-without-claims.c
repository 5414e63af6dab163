/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12: a thread has used one table and closed it, and goes on in
 * another one that has no claims left: each acquire returns -ENOSPC, and
 * nothing of the unmapped table is read.
 *
 * Otherwise the thread would crash, or use a claim of another table.
 */
#include <errno.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static const char *first, *second;

static void *
take_chunk(void *lh)
{
	struct lh_lease l;

	is(t_acquire(lh, "k", 3600000, 0, &l) == 0 ||
	    t_acquire(lh, "other", 3600000, 0, &l) == 0, 1,
	    "another attachment has 64 of the claims");
	return NULL;
}

static int
play(void *unused)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *a = t_open(first), *b[3];
	struct lh_lease l;

	(void)unused;
	is(lh_acquire(a, "k", NULL, &l), 0, "a table is used");
	is(lh_release(a, &l), 0, "by this thread");
	is(lh_close(a), 0, "and closed");
	o.max_leases = 128;
	for (int i = 0; i < 3; i++)
		is(lh_open(&b[i], second, &o), 0, "another one");
	for (int i = 0; i < 2; i++)
		(void)t_join(t_thread(take_chunk, b[i]));
	for (int i = 0; i < 5; i++)
		is(lh_acquire(b[2], "k", NULL, &l), -ENOSPC, "no claims left");
	is(lh_acquire(NULL, "k", NULL, &l), -EINVAL, "no table");
	for (int i = 2; i >= 0; i--)
		is(lh_close(b[i]), 0, "closed");
	return tap_child_status();
}

static int
play_null(void *unused)
{
	struct lh *a = t_open(first);
	struct lh_lease l;

	(void)unused;
	is(lh_acquire(a, "k", NULL, &l), 0, "a table is used");
	is(lh_release(a, &l), 0, "by this thread");
	is(lh_close(a), 0, "and closed");
	is(lh_acquire(NULL, "k", NULL, &l), -EINVAL, "no table");
	return tap_child_status();
}

int
main(void)
{
	first = t_table();
	second = t_table();
	is(t_reap(t_fork(play, NULL), T_HANG_MS), 0, "another table");
	is(t_reap(t_fork(play_null, NULL), T_HANG_MS), 0, "none");
	return done();
}
