/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8, invariant I6 of live/acquire_many.c: a process holds the first
 * of two cluster keys when this host's right to the second one goes to another
 * host.  It releases the first key, which the other host may need before it
 * returns the second.
 *
 * Otherwise two hosts would wait for each other until a wait ends.
 */
#include <errno.h>
#include "base/clock.h"
#include "op/cluster_check.h"
#include <leasehold/many.h>
#include "replay.h"

static struct lh *lh, *shim;
static struct lhi_ref ref[2];
static uint64_t epoch;

/* As the shim does it. */
static void
set_right(int i, const char *key, unsigned right)
{
	struct lh_lease l;

	is(replay_try(shim, key, &l), 0, "%s: held for the cluster", key);
	ref[i] = lhi_lease_ref(&shim->v, &l);
	is(lhi_right_raise(&shim->v, &ref[i], cluster_base(10)), 0,
	    "its base is raised");
	is(lhi_right_set(&shim->v, &ref[i], right, epoch), 0, "a right is set");
	is(lh_release(shim, &l), 0, "released");
}

static int
acquire_both(void *arg)
{
	struct lh_item items[2] = { { .key = "cluster:1" },
	    { .key = "cluster:2" } };
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, REPLAY_LONG_MS);
	struct lh_lease l[2];

	return lh_acquire_many(lh, items, 2, &o, l);
}

int
main(void)
{
	const char *table = replay_begin();
	const uint64_t session[2] = { 1, 0 };
	struct lh_lease second, first;

	lh = replay_open(table, 0);
	shim = replay_open(table, 0);
	lhi_cluster_check_serve(shim);
	epoch = lhi_cluster_begin(&shim->v, session, 1, 1);
	lhi_cluster_go_on(&shim->v, (uint64_t)lhi_clock_ns(CLOCK_BOOTTIME) +
	    3600 * (uint64_t)NS_PER_SEC);
	set_right(0, "cluster:1", RIGHT_EXCLUSIVE);
	set_right(1, "cluster:2", RIGHT_EXCLUSIVE);

	replay_hold("process", "many.won");
	replay_go("process", acquire_both, NULL);
	replay_wait_held("process");
	is(replay_try(shim, "cluster:2", &second), 0, "the second key is held");
	is(lhi_right_set(&shim->v, &ref[1], RIGHT_NONE, epoch), 0,
	    "and this host's right to it is returned");
	replay_release("process");
	ok(t_until(REPLAY_MS / 2, replay_try(shim, "cluster:1", &first) ==
	    0), "the process releases the first key");
	is(replay_result("process"), -EHOSTUNREACH,
	    "and asks a shim for the right; there is none");
	is(lh_release(shim, &first), 0, "released");
	is(lh_release(shim, &second), 0, "released");
	t_close(lh);
	t_close(shim);
	return done();
}
