/* SPDX-License-Identifier: MIT */
/*
 * A cluster whose revisions are larger than tokens have room for: a caller that
 * wants a key, or a newer base of one, gets an error, and does not wait.
 *
 * Otherwise tokens would wrap, and old ones would look newer.
 */
#include <errno.h>
#include <unistd.h>
#include "support/hosts.h"

static void
do_leap(void *arg)
{
	struct host *h = arg;

	fake_store_become(hosts_store, h->shim->mark.cluster,
	    (int64_t)CLUSTER_REVISION_MAX + 1);
}

/* A process that the shim sends to wait in the table is granted there, and asks
 * again. */
static void
is_told(struct host *h, const char *key, unsigned flags, const char *what)
{
	int64_t end_ns = t_now_ns() + T_HANG_MS * T_NS_PER_MS;
	static struct lhi_frame f;
	int type, fd;

	do {
		fd = dial(h);
		hosts_want(fd, 7, key, RIGHT_EXCLUSIVE, flags);
		type = hear(fd, &f, t_ms(1000));
		(void)close(fd);
		if (type == FRAME_QUEUED)
			t_sleep_ms(5);
	} while (type == FRAME_QUEUED && t_now_ns() < end_ns);
	is(type, FRAME_FAILED, "%s: refused", what);
	is(f.error, ERANGE, "  for that reason");
}

int
main(void)
{
	struct host *a = &hosts[0];
	struct lh_lease l;

	hosts_begin(1);
	is(take(a, "cluster:k", RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0, "a key");
	is(lh_release(a->lh, &l), 0, "is free");
	hosts_do(do_leap, a);
	is_told(a, "cluster:k", FRAME_REANCHOR, "a newer base of it");
	is_told(a, "cluster:new", FRAME_TRY, "another one");
	is(take(a, "cluster:k", RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0,
	    "the first one can still be acquired");
	is(lh_release(a->lh, &l), 0, "release");
	hosts_end();
	return done();
}
