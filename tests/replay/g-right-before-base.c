/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2, invariant I2 of op/cluster_check.c: a shim that was stopped
 * until its own lease of a cluster key had ended sets this host's right when a
 * process has already been granted the key, with an older token.  Wherever the
 * process is stopped between its grant and the end of its check, it must not
 * return a token that is not above the right's base.
 *
 * Otherwise a process would go to work with a token below one that another host
 * was given before.
 */
#include <errno.h>
#include "base/clock.h"
#include "op/lease_check.h"
#include "op/cluster_check.h"
#include "replay.h"

#define KEY "cluster:k"
#define PLACES 40

static struct lh *lh, *shim;
static uint64_t epoch, revision = 10;

static void
give(const struct lhi_ref *ref, unsigned mode)
{
	revision += 10;
	is(lhi_right_raise(&shim->v, ref, cluster_base(revision)), 0,
	    "the base is raised");
	is(lhi_right_set(&shim->v, ref, mode, epoch), 0, "the right is set");
}

/* Sets the right when the process is at its nth load after the grant. */
static void
late_right(int n)
{
	struct replay_call c = REPLAY_CALL(lh, KEY, REPLAY_LONG_MS, 3000);
	struct lh_lease mine;
	struct lhi_ref ref;
	bool held;
	int e;

	is(replay_try(shim, KEY, &mine), 0, "the shim acquires the key");
	ref = lhi_lease_ref(&shim->v, &mine);
	give(&ref, RIGHT_EXCLUSIVE);
	replay_hold("process", "cluster.granted");
	replay_go("process", replay_acquire, &c);
	ok(t_await_waiters(lh, KEY, 1), "a process waits for it");
	is(lhi_right_set(&shim->v, &ref, RIGHT_NONE, epoch), 0,
	    "the right is cleared");
	is(lh_release(shim, &mine), 0, "and the shim's lease ends");
	replay_wait_held("process");
	replay_hold_nth("process", "load", n);
	replay_release("process");
	held = replay_comes("process");
	give(&ref, RIGHT_EXCLUSIVE);
	if (held)
		replay_release("process");
	e = replay_result("process");
	if (e == 0) {
		cmp(c.lease.token, >, lhi_right_base(&shim->v, ref.slot),
		    "at load %d: its token is above the base", n);
		is(lh_release(lh, &c.lease), 0, "released");
	} else {
		is(e, -EHOSTUNREACH, "at load %d: it asks again", n);
	}
}

int
main(void)
{
	const char *table = replay_begin();
	const uint64_t session[2] = { 1, 0 };

	lh = replay_open(table, 0);
	shim = replay_open(table, 0);
	lhi_cluster_check_serve(shim);
	epoch = lhi_cluster_begin(&shim->v, session, 1, 1);
	lhi_cluster_go_on(&shim->v, (uint64_t)lhi_clock_ns(CLOCK_BOOTTIME) +
	    3600 * (uint64_t)NS_PER_SEC);
	for (int n = 1; n <= PLACES; n++)
		late_right(n);
	t_close(lh);
	t_close(shim);
	return done();
}
