/* SPDX-License-Identifier: MIT */
/*
 * G2, cluster_check.c I2: a shim that was stopped until its lease of a cluster
 * key had ended gives the right when a process has been granted the key
 * already, with a token from before.  Wherever that process stands between its
 * grant and the end of its check, it does not go by a token that is not above
 * the base.
 */
#include <errno.h>
#include "base/clock.h"
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

/* When it stands at its nth load after the grant, or has ended before. */
static void
late_right(int n)
{
	struct replay_call c = REPLAY_CALL(lh, KEY, REPLAY_LONG_MS, 3000);
	struct lh_lease mine;
	struct lhi_ref ref;
	bool held;
	int e;

	is(replay_try(shim, KEY, &mine), 0, "the shim has the key");
	ref = lhi_ref_at(&shim->v, mine.key);
	give(&ref, RIGHT_EXCLUSIVE);
	replay_hold("process", "cluster.granted");
	replay_go("process", replay_acquire, &c);
	ok(t_await_waiters(lh, KEY, 1), "which somebody waits for");
	is(lhi_right_set(&shim->v, &ref, RIGHT_NONE, epoch), 0,
	    "the right is taken away");
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
