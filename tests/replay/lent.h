/* SPDX-License-Identifier: MIT */
/*
 * A cluster key that this host may grant, without a shim: an attachment that
 * serves (op/cluster_check.h) writes what a shim would write.
 */
#ifndef TESTS_REPLAY_LENT_H
#define TESTS_REPLAY_LENT_H

#include "base/clock.h"
#include "op/lease_check.h"
#include "op/cluster_check.h"
#include "replay.h"

#define LENT_KEY	"cluster:k"
#define LENT_FN		__attribute__((unused)) static

static struct lh *lent_shim;
static uint64_t lent_epoch, lent_revision = 10;

/* Call it after replay_begin(). */
LENT_FN void
lent_begin(const char *table)
{
	lent_shim = replay_open(table, 0);
	lhi_cluster_check_serve(lent_shim);
}

/* Sets D, the end of this host's right, to that many ms from now. */
LENT_FN void
lent_until_in_ms(int64_t ms)
{
	lhi_cluster_go_on(&lent_shim->v, (uint64_t)(
	    lhi_clock_ns(CLOCK_BOOTTIME) + t_ms(ms) * T_NS_PER_MS));
}

/* Ends this host's right now. */
LENT_FN void
lent_pass(void)
{
	lhi_cluster_go_on(&lent_shim->v,
	    (uint64_t)lhi_clock_ns(CLOCK_BOOTTIME));
}

/* Begins another session with the cluster, and sets the right under it for
 * ms. */
LENT_FN void
lent_give(int64_t ms)
{
	const uint64_t session[2] = { ++lent_revision, 0 };
	struct lh_lease mine;
	struct lhi_ref ref;

	lent_epoch = lhi_cluster_begin(&lent_shim->v, session, 1, 1);
	lent_until_in_ms(ms);
	is(replay_try(lent_shim, LENT_KEY, &mine), 0, "the shim has the key");
	ref = lhi_lease_ref(&lent_shim->v, &mine);
	lent_revision += 10;
	is(lhi_right_raise(&lent_shim->v, &ref, cluster_base(lent_revision)),
	    0, "the base is raised");
	is(lhi_right_set(&lent_shim->v, &ref, RIGHT_EXCLUSIVE, lent_epoch), 0,
	    "the right is set");
	is(lh_release(lent_shim, &mine), 0, "and its lease ends");
}

#endif
