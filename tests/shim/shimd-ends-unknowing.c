/* SPDX-License-Identifier: MIT */
/*
 * A shim is asked to end before it knows what this host has, because the
 * cluster is away.  It leaves session and rights unchanged, because leases
 * under them are still held; the next shim goes on with them.
 *
 * Otherwise a restart during an outage would end leases that are held.
 */
#include <errno.h>
#include "support/hosts.h"

int
main(void)
{
	struct host *a = &hosts[0];
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	uint64_t epoch;
	struct lh_lease l;

	hosts_begin(1);
	is(lh_acquire(a->lh, "cluster:k", &o, &l), 0, "a key is held");
	epoch = lhi_cluster_epoch(&a->lh->v);
	host_down(a);
	a->cut_first = true;
	is(host_up(a), 0, "the next shim, without the cluster");
	host_ended(a);
	is(lh_verify(a->lh, &l), 0, "the lease is held still");
	is(host_up(a), 0, "another one, with it");
	ok(t_until(T_HANG_MS, host_reaches_now(a)), "it goes on");
	is(lhi_cluster_epoch(&a->lh->v), epoch, "in the same epoch");
	is(lh_verify(a->lh, &l), 0, "so does the lease");
	is(lh_release(a->lh, &l), 0, "released");
	host_ended(a);
	hosts_end();
	return done();
}
