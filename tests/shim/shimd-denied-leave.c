/* SPDX-License-Identifier: MIT */
/*
 * Permission is taken away from a host that has a key, and another one wants
 * it: it is not given back, for that is a write, too.  But when the shim ends,
 * nobody here has any key, so its session ends with it, and who waits has the
 * key then and not when the session's time is up.
 */
#include <errno.h>
#include "support/asked.h"
#include "support/hosts.h"

static const char key[] = "cluster:k";
static struct host *const a = &hosts[0], *const b = &hosts[1];
static _Atomic bool denied;

static enum fake_mishap
deny(unsigned host, uint64_t call, void *arg)
{
	return denied && asked_to_write("/q/k/") ? FAKE_DENIED : FAKE_NONE;
}

static void
do_begin(void *arg)
{
	fake_store_mishaps(hosts_store, deny, NULL, NULL);
	asked_watch(a->engine);
}

static void *
take_there(void *arg)
{
	struct lh_acquire_opts o = t_opts(60000, 3 * T_HANG_MS);
	static struct lh_lease l;

	*(int *)arg = lh_acquire(b->lh, key, &o, &l);
	return NULL;
}

int
main(void)
{
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	pthread_t other;
	struct lh_lease l;
	int64_t then_ns;
	int there = -1;

	a->opts.ttl_ms = b->opts.ttl_ms = (unsigned)t_ms(20000);
	hosts_begin(2);
	hosts_do(do_begin, NULL);
	is(lh_acquire(a->lh, key, &o, &l), 0, "A has the key");
	is(lh_release(a->lh, &l), 0, "and lets go of it");
	denied = true;
	other = t_thread(take_there, &there);
	ok(t_until(T_HANG_MS, host_right(a, key) == RIGHT_NONE),
	    "B wants it: A has no right any more");
	then_ns = t_now_ns();
	host_ended(a);
	(void)t_join(other);
	is(there, 0, "B has it");
	cmp(t_since_ms(then_ns), <, t_ms(10000), "when A's shim has ended");
	hosts_end();
	return done();
}
