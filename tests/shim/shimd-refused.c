/* SPDX-License-Identifier: MIT */
/* test: slow 18 */
/*
 * A store refuses every write (no space, no permission): a process that asks a
 * shim which begins then gets the reason soon.
 *
 * Otherwise it would wait for ever for a cluster that is there.
 */
#include <errno.h>
#include <unistd.h>
#include "support/hosts.h"

#define NOBODY 9

static _Atomic int mishap;
static _Atomic unsigned whose = NOBODY;

static enum fake_mishap
refuse(unsigned host, uint64_t call, void *arg)
{
	return host == whose ? (enum fake_mishap)mishap : FAKE_NONE;
}

static void
do_begin(void *arg)
{
	fake_store_mishaps(hosts_store, refuse, NULL, NULL);
}

/* It waits without an end. */
static int
acquire(struct host *h)
{
	struct lh_acquire_opts o = t_opts(60000, LH_WAIT_FOREVER);
	struct lh_lease l;
	int e = lh_acquire(h->lh, "cluster:k", &o, &l);

	if (e == 0)
		(void)lh_release(h->lh, &l);
	else
		diag("%s", lh_error_detail());
	return e;
}

int
main(void)
{
	struct host *b = &hosts[1];

	/* how long it waits before it asks again is a part of it */
	b->opts.ttl_ms = (unsigned)t_ms(HOSTS_SHORT_MS);
	hosts_begin(2);
	hosts_do(do_begin, NULL);
	host_ended(b);
	for (mishap = FAKE_REFUSED; mishap <= FAKE_DENIED; mishap++) {
		whose = 1;
		is(host_up(b), 0, "B's shim begins, and is refused");
		is(acquire(b), -EHOSTUNREACH, "a waiter gets the error");
		whose = NOBODY;
		ok(t_until(T_HANG_MS, host_reaches_now(b)), "it is heard");
		is(acquire(b), 0, "and the key can be acquired");
		host_ended(b);
	}
	hosts_end();
	return done();
}
