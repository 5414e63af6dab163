/* SPDX-License-Identifier: MIT */
/*
 * A shim is killed while an old shared claim of a key is being left and a new
 * one has been granted.  The next shim finds both, and no lease is lost.
 *
 * Otherwise a crash of the shim would end leases of its host.
 */
#include <unistd.h>
#include "support/asked.h"
#include "support/hosts.h"

static const char key[] = "cluster:k";
static _Atomic bool keeps = true;

static enum fake_mishap
lose(unsigned host, uint64_t call, void *arg)
{
	return host == 0 && keeps && asked_to(KV_DELETE) ? FAKE_LOST_REQUEST :
	    FAKE_NONE;
}

static void
do_begin(void *arg)
{
	asked_watch(hosts[0].engine);
	fake_store_mishaps(hosts_store, lose, NULL, NULL);
}

int
main(void)
{
	struct host *a = &hosts[0], *b = &hosts[1];
	struct lh_lease l, m;
	int fd;

	hosts_begin(2);
	hosts_do(do_begin, NULL);
	is(take(a, "cluster:other", RIGHT_EXCLUSIVE, T_HANG_MS, &m), 0,
	    "A takes a key");
	is(take(a, key, RIGHT_SHARED, T_HANG_MS, &l), 0, "another, shared");
	is(lh_release(a->lh, &l), 0, "which it leaves");
	fd = dial(b);
	is(ask(fd, key, RIGHT_EXCLUSIVE, 0), FRAME_QUEUED, "B wants it");
	ok(t_until(T_HANG_MS, host_right(a, key) == RIGHT_NONE),
	    "A gives it back, and the store does not hear that");
	(void)close(fd);
	is(take(a, key, RIGHT_SHARED, T_HANG_MS, &l), 0,
	    "B does not want it any more, and A has it again");
	host_down(a);
	keeps = false;
	is(host_up(a), 0, "A's shim is killed, and started");
	ok(t_until(T_HANG_MS, host_reaches_now(a)), "it is up");
	is(lh_verify(a->lh, &l), 0, "the key is held still");
	is(lh_verify(a->lh, &m), 0, "and the other one");
	is(take(b, key, RIGHT_SHARED, T_HANG_MS, &l), 0, "B may read it");
	is(lh_release(b->lh, &l), 0, "released");
	hosts_end();
	return done();
}
