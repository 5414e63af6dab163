/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G11: a caller has found that a cluster key's token has no right any
 * more, and is stopped before it ends that lease.  This host's right comes
 * back, and the lease's claim may be used again.  The caller must end the old
 * lease and no other one.
 *
 * Otherwise a late lh_verify_token() would end a lease that the holder has just
 * acquired.
 */
#include <errno.h>
#include "base/clock.h"
#include "op/lease_check.h"
#include "op/cluster_check.h"
#include "replay.h"

#define KEY "cluster:k"

static struct lh *lh, *shim, *looker;
static uint64_t epoch, revision = 10;
static uint64_t token;

static void
until_in_ms(int64_t ms)
{
	lhi_cluster_go_on(&shim->v, (uint64_t)(lhi_clock_ns(CLOCK_BOOTTIME) +
	    t_ms(ms) * T_NS_PER_MS));
}

static void
give(void)
{
	struct lh_lease mine;
	struct lhi_ref ref;

	is(replay_try(shim, KEY, &mine), 0, "the shim acquires the key");
	ref = lhi_lease_ref(&shim->v, &mine);
	revision += 10;
	is(lhi_right_raise(&shim->v, &ref, cluster_base(revision)), 0,
	    "the base is raised");
	is(lhi_right_set(&shim->v, &ref, RIGHT_EXCLUSIVE, epoch), 0,
	    "the right is set");
	is(lh_release(shim, &mine), 0, "and its lease ends");
}

static void
take(uint32_t mode, struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);

	o.mode = mode;
	is(lh_acquire(lh, KEY, &o, l), 0, "acquired: %s", lh_error_detail());
}

static int
look(void *unused)
{
	(void)unused;
	return lh_verify_token(looker, KEY, token);
}

/* again: the holder acquires the key again before the looker goes on. */
static void
late(uint32_t mode, bool again)
{
	struct lh_lease l = { 0 }, m = { 0 };
	const uint64_t session[2] = { ++revision, 0 };

	epoch = lhi_cluster_begin(&shim->v, session, 1, 1);
	until_in_ms(400);
	give();
	take(mode, &l);
	token = l.token;
	is(lh_verify_token(looker, KEY, token), 0, "its token verifies");
	t_sleep_ms(t_ms(400) + 2);
	replay_stop("looker", "token.without_right", look, NULL);
	until_in_ms(REPLAY_LONG_MS);
	if (again) {
		is(lh_release(lh, &l), 0, "released: D has come back");
		take(mode, &m);
		/* readers use several claims in turn */
		if (mode == LH_EXCLUSIVE)
			is(lid_claim(m.id[1]), lid_claim(l.id[1]),
			    "by the same claim");
	}
	is(replay_finish("looker"), -ESTALE, "the token was without a right");
	if (again) {
		is(lh_verify(lh, &m), 0, "the younger lease is held: %s",
		    lh_error_detail());
		is(lh_verify_token(looker, KEY, m.token), 0, "by its token");
		is(lh_release(lh, &m), 0, "released");
	} else {
		is(lh_verify(lh, &l), -ESTALE,
		    "and its lease is lost for good");
	}
}

int
main(void)
{
	const char *table = replay_begin();

	lh = replay_open(table, 0);
	shim = replay_open(table, 0);
	looker = replay_open(table, 0);
	lhi_cluster_check_serve(shim);
	late(LH_EXCLUSIVE, true);
	late(LH_EXCLUSIVE, false);
	late(LH_SHARED, true);
	late(LH_SHARED, false);
	t_close(lh);
	t_close(shim);
	t_close(looker);
	return done();
}
