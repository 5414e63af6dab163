/* SPDX-License-Identifier: MIT */
/*
 * Measures the time from a release to the grant of the next waiter.
 *
 *   fifo_handover
 *	two processes, a FIFO table, acquire and release in turn.  The holder
 *	does not release before the other one has begun to wait, so that every
 *	grant is a hand-over: one process sleeps, the other is woken.  Each has
 *	a CPU, as on most machines most of the time.  The waiter may also find
 *	the key free while it still spins, which is part of the measurement.
 *   fifo_together
 *	the same with both on one CPU, where every grant is a sleep and a
 *	wake-up, and the price of our own instructions shows.
 *
 * The peer is the least work for the kernel: two futexes in shared memory, each
 * process asleep on its own.  It sets the other's, wakes it, and waits for its
 * own, by the same rule and on the same CPUs.  It excludes nobody, survives
 * nothing, has no queue, and its sleeps have no end.  The difference to ours is
 * the work outside the kernel, and the timer that finds a dead waker.
 *
 * The rule is needed.  On one CPU the woken process may replace the waker
 * before the waker has queued again.  Then it finds nobody waiting and acquires
 * alone for a time slice: a hundred thousand grants that are no hand-over.
 * (Bare futexes without the rule alternate by themselves, but then every second
 * one is set before its owner sleeps: 2 us instead of 5.)
 *
 * With a CPU for each the figure is mostly the time this machine needs to wake
 * an idle CPU, about 20 us in a virtual one.  A process says that it waits
 * before it queues, so some grants there reach it while it is still awake.  The
 * rule cannot be stricter, because other processes cannot see that one sleeps.
 */
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>

#include <leasehold.h>

#include "contest.h"

/* Waits, as the holder, until the other one is about to wait. */
static void await_other(unsigned int me)
{
	atomic_store(&ground->seat[me].coming, 0);
	while (atomic_load(&ground->seat[!me].coming) == 0 &&
	    !contest_stopped())
		sched_yield();
}

static void handover_ours(unsigned int me)
{
	struct lh_open_opts opts = LH_OPEN_OPTS_INIT;
	char table[sizeof(bench.table) + 8];
	struct lh_lease lease;
	struct lh_key *key;
	uint64_t n = 0;
	struct lh *lh;
	bool twice;

	snprintf(table, sizeof(table), "%s.fifo", bench.table);
	opts.order = LH_ORDER_FIFO;
	bench_need(lh_open(&lh, table, &opts), "lh_open");
	bench_need(lh_key_open(lh, "bench/handover", 0, &key), "key_open");
	contest_meet();
	while (!contest_stopped()) {
		atomic_store(&ground->seat[me].coming, 1);
		bench_need(lh_key_acquire(key, NULL, &lease), "acquire");
		twice = atomic_load(&ground->turn) == me;
		atomic_store(&ground->turn, me);
		n += !twice;
		await_other(me);
		bench_need(lh_release(lh, &lease), "release");
		if (twice)	/* it is on its way, and does not queue yet */
			sched_yield();
	}
	ground->done[me].n = n;
	bench_need(lh_key_close(key), "key_close");
	bench_need(lh_close(lh), "lh_close");
}

static void fill(unsigned int seat)
{
	atomic_store(&ground->seat[seat].full, 1);
	contest_futex(&ground->seat[seat].full, FUTEX_WAKE, 1);
}

static void handover_futex(unsigned int me)
{
	_Atomic uint32_t *mine = &ground->seat[me].full;
	uint64_t n = 0;

	if (me == 0)
		fill(0);
	contest_meet();
	while (!contest_stopped()) {
		atomic_store(&ground->seat[me].coming, 1);
		while (atomic_load(mine) == 0)
			contest_futex(mine, FUTEX_WAIT, 0);
		atomic_store(mine, 0);
		n++;
		await_other(me);
		fill(!me);
	}
	fill(!me);	/* it may have looked at stop before it was set */
	ground->done[me].n = n;
}

static const struct contest contests[] = {
	{ 2, PLACE_APART, false, handover_ours, handover_futex, {
	    "fifo_handover", "futex",
	    "2 processes alternate, a CPU for each: time a hand-over",
	    ROW_METRIC, 1.3, { 0, 0 }, { 0, 0 }, NULL } },
	{ 2, PLACE_TOGETHER, false, handover_ours, handover_futex, {
	    "fifo_together", "futex", "the same, both on one CPU",
	    ROW_CONTEXT, 0, { 0, 0 }, { 0, 0 }, NULL } },
};

#define N_ROWS (sizeof(contests) / sizeof(contests[0]))

size_t bench_handover(struct row **out)
{
	static struct row rows[N_ROWS];

	contest_set_up();
	contest_run_all(contests, N_ROWS, rows, 120000000);
	*out = rows;
	return N_ROWS;
}
