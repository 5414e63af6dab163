/* SPDX-License-Identifier: MIT */
/*
 * Measures a hand-over in strict order while a hundred processes queue.
 *
 * Each acquires, releases at once and queues again, so that nobody is granted
 * out of turn and all but one sleep.  The time is that of one grant.
 *
 * The peer is a ring of as many processes, each asleep on a bare futex of its
 * own, by the same rule: whoever is woken wakes the next one and sleeps again.
 * It has no queue, excludes nobody and survives nothing (bench/handover.c).
 */
#include <linux/futex.h>
#include <stdio.h>

#include <leasehold.h>

#include "contest.h"

#define QUEUED MAX_WORKERS

static void drain_ours(unsigned int me)
{
	struct lh_open_opts opts = LH_OPEN_OPTS_INIT;
	char table[sizeof(bench.table) + 8];
	struct lh_lease lease;
	struct lh_key *key;
	uint64_t n = 0;
	struct lh *lh;

	(void)snprintf(table, sizeof(table), "%s.drain", bench.table);
	opts.order = LH_ORDER_FIFO;
	bench_need(lh_open(&lh, table, &opts), "lh_open");
	bench_need(lh_key_open(lh, "bench/drain", 0, &key), "key_open");
	contest_meet();
	while (!contest_stopped()) {
		bench_need(lh_key_acquire(key, NULL, &lease), "acquire");
		n++;
		bench_need(lh_release(lh, &lease), "release");
	}
	ground->done[me].n = n;
	bench_need(lh_key_close(key), "key_close");
	bench_need(lh_close(lh), "lh_close");
}

static void wake_next(unsigned int me)
{
	_Atomic uint32_t *next = &ground->seat[(me + 1) % QUEUED].full;

	atomic_store(next, 1);
	contest_futex(next, FUTEX_WAKE, 1);
}

static void drain_futex(unsigned int me)
{
	_Atomic uint32_t *mine = &ground->seat[me].full;
	uint64_t n = 0;

	if (me == 0)
		atomic_store(mine, 1);
	contest_meet();
	while (!contest_stopped()) {
		while (atomic_load(mine) == 0)
			contest_futex(mine, FUTEX_WAIT, 0);
		atomic_store(mine, 0);
		n++;
		wake_next(me);
	}
	wake_next(me);	/* it may have looked at stop before it was set */
	ground->done[me].n = n;
}

static const struct contest drain = {
	QUEUED, PLACE_ANY, false, drain_ours, drain_futex, {
	"drain_100", "futex", "100 processes queue: time a hand-over",
	ROW_METRIC, 2.5, { 0, 0 }, { 0, 0 }, NULL }
};

size_t bench_drain(struct row **out)
{
	static struct row row;

	contest_set_up();
	row = contest_run(&drain, bench.quick ? 5 : 15,
	    bench.quick ? 200000000 : 400000000);
	*out = &row;
	return 1;
}
