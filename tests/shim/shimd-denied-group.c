/* SPDX-License-Identifier: MIT */
/*
 * Two keys are wanted at once, and this host may not have one of them.  Who
 * wants both is told; who wants the other one has it: for that there is
 * permission.
 */
#include <errno.h>
#include "support/asked.h"
#include "support/hosts.h"

#define OPEN "cluster:open"
#define SECRET "cluster:secret"

static struct host *const a = &hosts[0];

/* As etcd with roles: all of a transaction, for one key. */
static enum fake_mishap
deny(unsigned host, uint64_t call, void *arg)
{
	return asked_to_write("/q/secret/") ? FAKE_DENIED : FAKE_NONE;
}

static void
do_begin(void *arg)
{
	fake_store_mishaps(hosts_store, deny, NULL, NULL);
	asked_watch(a->engine);
}

static void
both_then_one(int64_t wait_ms, const char *how)
{
	struct lh_item item[2] = { { .key = OPEN }, { .key = SECRET } };
	struct lh_acquire_opts o = t_opts(60000, wait_ms);
	struct lh_lease two[2], one;

	is(lh_acquire_many(a->lh, item, 2, &o, two), -EACCES,
	    "%s both is told", how);
	is(lh_acquire(a->lh, OPEN, &o, &one), 0,
	    "%s the one that this host may have", how);
	if (one.token != 0)
		is(lh_release(a->lh, &one), 0, "released");
	is(lh_acquire(a->lh, SECRET, &o, &one), -EACCES,
	    "%s the other one is told", how);
	host_down(a);		/* and all is forgotten */
	is(host_up(a), 0, "another shim");
	ok(t_until(T_HANG_MS, host_reaches_now(a)), "it is up");
	hosts_do(do_begin, NULL);
}

int
main(void)
{
	hosts_begin(1);
	hosts_do(do_begin, NULL);
	both_then_one(T_HANG_MS, "who waits for");
	both_then_one(0, "who tries");
	hosts_end();
	return done();
}
