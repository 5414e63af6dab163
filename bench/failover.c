/* SPDX-License-Identifier: MIT */
/*
 * For how long is nothing granted when etcd's leader is killed?
 *
 * Two processes ask all the time: one takes keys that its host has no right to
 * yet (each needs a transaction), the other one puts into etcd, as a client
 * that knows all members as the shim does.  An outage is the longest time
 * between two successes around a kill.  The member is started again and has
 * caught up before the next kill.
 *
 * A third takes a key that its host has the right to, which needs no etcd while
 * the session lasts: how long it was kept waiting is said below the table.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <leasehold.h>

#include "etcd.h"

#define PACE_US		2000
#define BEFORE_US	200000
#define AFTER_US	4000000
#define MOST		9

enum { OURS, THEIRS, DELEGATED, SIDES };

static struct stage {
	_Atomic uint64_t last_ns[SIDES], gap_ns[SIDES];
} *stage;

static void success(unsigned int side)
{
	uint64_t now = bench_clock_ns();
	uint64_t gap = now - atomic_exchange(&stage->last_ns[side], now);

	if (gap > atomic_load(&stage->gap_ns[side]))
		atomic_store(&stage->gap_ns[side], gap);
	bench_sleep_us(PACE_US);
}

static void take(unsigned int side)
{
	struct lh_lease lease;
	char key[64] = "cluster:bench/steady";
	unsigned int i;
	struct lh *lh;

	bench_need(lh_open(&lh, hosts_table(side == OURS ? 0 : 1), NULL),
	    "lh_open");
	for (i = 0;; i++) {
		if (side == OURS)
			snprintf(key, sizeof(key), "cluster:bench/over-%u", i);
		if (lh_acquire(lh, key, NULL, &lease) != 0)
			continue;
		bench_need(lh_release(lh, &lease), "release");
		success(side);
	}
}

static void put(void)
{
	struct bare *b = bare_open(etcd_urls(-1));
	char key[64];
	unsigned int i;

	for (i = 0;; i++) {
		snprintf(key, sizeof(key), "bare/over-%u", i);
		if (bare_put(b, key, 300))
			success(THEIRS);
	}
}

static void kill_leader(double outage[SIDES])
{
	struct bare *b = bare_open(etcd_urls(-1));
	unsigned int leader, side;

	/* all are here, and have been for a moment */
	if (!bare_here(b))
		bench_die("etcd does not come back");
	bare_close(b);
	leader = etcd_leader();
	bench_sleep_us(BEFORE_US);
	for (side = 0; side < SIDES; side++)
		atomic_store(&stage->gap_ns[side], 0);
	etcd_kill(leader);
	bench_sleep_us(AFTER_US);
	for (side = 0; side < SIDES; side++)
		outage[side] = (double)atomic_load(&stage->gap_ns[side]);
	etcd_again(leader);
	bench_sleep_us(AFTER_US / 4);
}

struct row failover_row(const char *missing)
{
	struct row row = { "c_failover3", "puts", "leader killed: until keys "
	    "are granted again", ROW_METRIC, 0, { 0, 0 }, { 0, 0 }, missing };
	const unsigned int n = bench.quick ? 3 : MOST;
	double outage[SIDES], ns[SIDES][MOST];
	unsigned int i, side;
	int pids[SIDES];

	if (missing)
		return row;
	stage = bench_shared(sizeof(*stage));
	for (side = 0; side < SIDES; side++) {
		atomic_store(&stage->last_ns[side], bench_clock_ns());
		pids[side] = bench_fork();
		if (pids[side] == 0 && side == THEIRS)
			put();
		else if (pids[side] == 0)
			take(side);
	}
	bench_sleep_us(1000000);
	for (i = 0; i < n; i++) {
		kill_leader(outage);
		for (side = 0; side < SIDES; side++)
			ns[side][i] = outage[side];
	}
	bench_kill(pids, SIDES);
	row.ours = bench_summarise(ns[OURS], n);
	row.theirs = bench_summarise(ns[THEIRS], n);
	bench_report_note("c_failover3: a key that the host had was kept "
	    "waiting for at most %.0f ms meanwhile",
	    bench_percentile(ns[DELEGATED], n, 100) / 1e6);
	return row;
}
