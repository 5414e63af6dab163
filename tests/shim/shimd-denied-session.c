/* SPDX-License-Identifier: MIT */
/* test: slow 10 */
/*
 * All permission is taken away from a host that has its session.  A caller that
 * wants a key after the session's end gets -EHOSTUNREACH with that reason.
 *
 * Otherwise an operator would search for a network fault.
 */
#include <errno.h>
#include <string.h>
#include "support/asked.h"
#include "support/hosts.h"

static const char key[] = "cluster:k";
static struct host *const a = &hosts[0];

static enum fake_mishap
deny(unsigned host, uint64_t call, void *arg)
{
	return FAKE_DENIED;
}

static void
do_deny(void *arg)
{
	fake_store_mishaps(hosts_store, deny, NULL, NULL);
}

static void
do_allow(void *arg)
{
	fake_store_mishaps(hosts_store, NULL, NULL, NULL);
}

static void
do_look(void *arg)
{
	*(bool *)arg = a->shim->expired;
}

static bool
is_dark(void)
{
	bool yes;

	hosts_do(do_look, &yes);
	return yes;
}

int
main(void)
{
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	struct lh_lease l;

	a->opts.ttl_ms = (unsigned)t_ms(HOSTS_SHORT_MS);
	hosts_begin(1);
	is(lh_acquire(a->lh, key, &o, &l), 0, "a key");
	is(lh_release(a->lh, &l), 0, "is free");
	hosts_do(do_deny, NULL);
	ok(t_until(T_HANG_MS, is_dark()), "the session ends");
	is(lh_acquire(a->lh, key, &o, &l), -EHOSTUNREACH, "who wants it then");
	ok(strstr(lh_error_detail(), "permission denied") != NULL,
	    "gets the reason: %s", lh_error_detail());
	hosts_do(do_allow, NULL);
	ok(t_until(T_HANG_MS, lh_acquire(a->lh, key, &o, &l) == 0),
	    "with permission it is soon granted");
	is(lh_release(a->lh, &l), 0, "released");
	hosts_end();
	return done();
}
