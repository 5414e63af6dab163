/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: pthread_cancel() of a thread that opens a table leaves nothing
 * behind: no descriptor, and no attachment that keeps others from removing the
 * table.  The thread is cancelled at each named point on its way in turn.
 *
 * Otherwise each cancelled open would leak a descriptor, and a session that
 * looks alive for as long as the process lives.
 */
#include <pthread.h>
#include "prim/shared.h"
#include "ranges.h"

static const char *table;
static __thread int left;

static void
on_any(const char *what, const void *addr)
{
	(void)what;
	if (addr == NULL && left > 0 && --left == 0)
		(void)pthread_cancel(pthread_self());
}

static void *
open_cancelled(void *arg)
{
	struct lh_open_opts o = fence_opts();
	struct lh *lh;

	o.max_sessions = 2;
	left = *(int *)arg;
	if (lh_open(&lh, table, &o) == 0) {
		*(int *)arg = left > 0 ? 0 : *(int *)arg;
		left = 0;
		(void)lh_close(lh);
	}
	return NULL;
}

int
main(void)
{
	void (*replays)(const char *, const void *);
	int before, n = 0, at, leaks = 0, stays = 0, first_leak = 0;

	table = replay_begin();
	(void)fence_dir();
	replays = lhi_hook;
	(void)lh_close(fence_open(table));
	before = t_descriptors();
	do {
		at = ++n;
		lhi_hook = on_any;
		(void)t_join(t_thread(open_cancelled, &at));
		lhi_hook = replays;
		if (t_descriptors() != before && leaks++ == 0)
			first_leak = n;
		before = t_descriptors();
		if (lh_table_remove(table, 0) == -EBUSY) {
			stays++;
			(void)lh_table_remove(table, LH_FORCE);
		}
	} while (at != 0 && n < 200);
	is(at, 0, "cancelled at each of %d places", n - 1);
	is(leaks, 0, "no descriptor is left (first: %d)", first_leak);
	is(stays, 0, "no attachment is left");
	return done();
}
