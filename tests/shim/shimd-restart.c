/* SPDX-License-Identifier: MIT */
/* test: slow 36 */
/*
 * Guarantees G4 and G9: a shim is killed and started again, and adopts its
 * session: holders go on.  If it comes back too late, their leases are lost.  A
 * second shim is refused.  Waiters return, and may ask the next shim.
 *
 * Otherwise a crash of the shim would end all cluster leases of its host.
 */
#include <errno.h>
#include <unistd.h>
#include "support/hosts.h"

static const char key[] = "cluster:k";

int
main(void)
{
	struct host *a = &hosts[0], *b = &hosts[1];
	struct lh_lease l, m;
	struct shim *first;
	uint64_t epoch, token;
	int fd;

	a->opts.ttl_ms = b->opts.ttl_ms = (unsigned)t_ms(HOSTS_SHORT_MS);
	hosts_begin(2);
	is(take(a, key, RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0, "A takes a key");
	is(take(b, "cluster:b", RIGHT_EXCLUSIVE, T_HANG_MS, &m), 0,
	    "B another");
	fd = dial(a);
	is(ask(fd, "cluster:b", RIGHT_EXCLUSIVE, 0), FRAME_QUEUED,
	    "which A waits for");

	first = a->shim;
	is(host_up(a), -EBUSY, "a second shim of A: refused");
	diag("%s", a->why);
	a->shim = first;
	ok(t_until(T_HANG_MS, host_reaches_now(a)), "the first goes on");
	is(ask(fd, key, RIGHT_EXCLUSIVE, 0), FRAME_GRANTED, "and answers");

	epoch = lhi_cluster_epoch(&a->lh->v);
	host_down(a);
	ok(host_may(a, key, RIGHT_EXCLUSIVE), "killed: A's lease counts");
	is(host_up(a), 0, "another one is started");
	ok(t_until(T_HANG_MS, host_reaches_now(a)), "it is up");
	is(lhi_cluster_epoch(&a->lh->v), epoch, "in the same epoch");
	ok(host_may(a, key, RIGHT_EXCLUSIVE), "A has its right");
	is(lh_verify(a->lh, &l), 0, "and its lease");
	t_sleep_ms(t_ms(2 * HOSTS_SHORT_MS));
	ok(host_may(a, key, RIGHT_EXCLUSIVE), "D moves on");
	token = l.token;
	is(lh_release(a->lh, &l), 0, "released");
	is(take(a, key, RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0, "again");
	is(cluster_revision(l.token), cluster_revision(token),
	    "without the cluster");
	cmp(l.token, >, token, "its token is larger");

	(void)close(fd);
	fd = dial(b);
	is(ask(fd, key, RIGHT_EXCLUSIVE, 0), FRAME_QUEUED, "B wants it");
	host_down(a);
	is(host_up(a), 0, "A's shim is killed again, and started");
	ok(t_until(T_HANG_MS, host_reaches_now(a)), "it is up");
	is(lh_release(a->lh, &l), 0, "A releases");
	ok(t_until(T_HANG_MS, host_may(b, key, RIGHT_EXCLUSIVE)),
	    "and B gets it");

	is(take(a, "cluster:c", RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0,
	    "A takes another");
	host_down(a);
	t_sleep_ms(t_ms(2 * HOSTS_SHORT_MS));
	ok(!host_may(a, "cluster:c", RIGHT_EXCLUSIVE),
	    "without a shim it ends at D");
	is(host_up(a), 0, "the shim comes late");
	ok(t_until(T_HANG_MS, host_reaches_now(a)), "it is up");
	cmp(lhi_cluster_epoch(&a->lh->v), >, epoch, "in another epoch");
	is(host_right(a, "cluster:c"), RIGHT_NONE, "the right is void");
	is(lh_verify(a->lh, &l), -ESTALE, "and the lease under it broken");
	is(take(b, "cluster:c", RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0,
	    "B may have the key");
	(void)close(fd);
	hosts_end();
	return done();
}
