/* SPDX-License-Identifier: MIT */
/* test: slow 15 */
/*
 * Guarantee G9: the cluster is away: rights end at D and not later; leases
 * under them are broken, and do not come back with the cluster; callers get the
 * reason; another host gets the key after that, and not before.
 *
 * Otherwise two hosts would hold one key while the network is cut.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "support/hosts.h"

static const char key[] = "cluster:k";

int
main(void)
{
	struct host *a = &hosts[0], *b = &hosts[1];
	static struct lhi_frame f;
	struct lh_lease l, m;
	uint64_t until, epoch, token;
	int fd, waiting;

	a->opts.ttl_ms = b->opts.ttl_ms = (unsigned)t_ms(HOSTS_SHORT_MS);
	hosts_begin(2);
	is(take(a, key, RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0, "A takes the key");
	is(take(a, "cluster:idle", RIGHT_EXCLUSIVE, T_HANG_MS, &m), 0,
	    "and another");
	is(lh_release(a->lh, &m), 0, "which it leaves");
	token = l.token;
	waiting = dial(a);
	fd = dial(b);
	is(ask(fd, key, RIGHT_EXCLUSIVE, 0), FRAME_QUEUED, "B wants it");
	is(take(b, "cluster:b", RIGHT_EXCLUSIVE, T_HANG_MS, &m), 0,
	    "B has another one");
	is(ask(waiting, "cluster:b", RIGHT_EXCLUSIVE, 0), FRAME_QUEUED,
	    "which A waits for");
	epoch = lhi_cluster_epoch(&a->lh->v);
	host_cut(a, true);
	until = lhi_cluster_until(&a->lh->v);
	ok(host_may(a, key, RIGHT_EXCLUSIVE), "A cut off: it goes on");
	is(lh_verify(a->lh, &l), 0, "its lease counts");
	ok(t_until(T_HANG_MS, host_may(b, key, RIGHT_EXCLUSIVE)),
	    "B has it in the end");
	cmp(shim_boot_ns(), >, until, "not before A's D");
	ok(!host_may(a, key, RIGHT_EXCLUSIVE), "A may not any more");
	ok(t_until(T_HANG_MS, lh_verify(a->lh, &l) == -ESTALE),
	    "its lease was broken");
	cmp(lhi_cluster_epoch(&a->lh->v), >, epoch, "in another epoch");
	is(host_right(a, "cluster:idle"), RIGHT_NONE, "all rights are void");
	is(ask(waiting, key, RIGHT_EXCLUSIVE, 0), FRAME_AWAY,
	    "a caller of A learns that the cluster is away");
	is(ask(waiting, key, RIGHT_SHARED, FRAME_TRY), FRAME_AWAY,
	    "a try as well");
	hosts_want(waiting, 9, key, RIGHT_SHARED, FRAME_TRY);
	is(hear(waiting, &f, T_HANG_MS), FRAME_AWAY, "and why:");
	diag("%.*s", (int)f.text_len, f.text);
	cmp(f.text_len, >, 10, "in words");

	host_cut(a, false);
	ok(t_until(T_HANG_MS, host_reaches_now(a)), "A is back");
	is(lh_verify(a->lh, &l), -ESTALE, "its lease stays lost");
	ok(!host_may(a, key, RIGHT_EXCLUSIVE), "the key is B's");
	is(ask(waiting, key, RIGHT_EXCLUSIVE, 0), FRAME_QUEUED,
	    "it can be waited for again");
	ok(t_until(T_HANG_MS, host_may(a, key, RIGHT_EXCLUSIVE)),
	    "and comes");
	is(take(a, key, RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0, "A takes it");
	cmp(l.token, >, token, "with a larger token");
	is(host_counts(a).lost, 1, "a session was lost");
	cmp(host_counts(a).broken, >=, 1, "keys were broken");

	is(lh_release(a->lh, &l), 0, "released");
	(void)close(fd);
	(void)close(waiting);

	/* from the beginning */
	host_ended(b);
	b->cut_first = true;
	is(host_up(b), 0, "B's shim begins without the cluster");
	fd = dial(b);
	ok(t_until(T_HANG_MS, ask(fd, key, RIGHT_SHARED, FRAME_TRY) ==
	    FRAME_AWAY), "a caller learns that");
	host_cut(b, false);
	ok(t_until(T_HANG_MS, host_reaches_now(b)), "it comes");
	is(take(b, key, RIGHT_EXCLUSIVE, T_HANG_MS, &m), 0,
	    "and the key can be acquired");
	(void)close(fd);
	hosts_end();
	return done();
}
