/* SPDX-License-Identifier: MIT */
/*
 * Measures a lock that every process wants at once.
 *
 *   contended_8, contended_2
 *	acquire, release, nothing in between and nothing around: the hardest
 *	thing for a lock.  Time an acquisition = wall time / acquisitions.
 *   x_alternate
 *	two processes on two CPUs, one after the other, never at once: a flag
 *	outside the table says whose turn it is.  So each turn fetches the
 *	memory of the lock, and that of the flag, from the other CPU.
 *   ping_pong
 *	two processes that must alternate: each may move only when the other
 *	has moved, and looks under the lock.  Time a move.
 */
#include <sched.h>

#include <leasehold.h>

#include "contest.h"

static pthread_mutex_t *mutex;

/* 1 if it was my turn and I moved. */
static unsigned int move(unsigned int me)
{
	if (atomic_load_explicit(&ground->turn, memory_order_relaxed) != me)
		return 0;
	atomic_store_explicit(&ground->turn, !me, memory_order_relaxed);
	return 1;
}

static void crowd_mutex(unsigned int me)
{
	uint64_t n = 0;

	contest_meet();
	while (!contest_stopped()) {
		bench_need(pthread_mutex_lock(mutex), "mutex_lock");
		bench_need(pthread_mutex_unlock(mutex), "mutex_unlock");
		n++;
	}
	ground->done[me].n = n;
}

static void ping_pong_mutex(unsigned int me)
{
	uint64_t n = 0;

	contest_meet();
	while (!contest_stopped()) {
		bench_need(pthread_mutex_lock(mutex), "mutex_lock");
		n += move(me);
		bench_need(pthread_mutex_unlock(mutex), "mutex_unlock");
	}
	ground->done[me].n = n;
}

static void attach(struct lh **lh, struct lh_key **key)
{
	bench_need(lh_open(lh, bench.table, NULL), "lh_open");
	bench_need(lh_key_open(*lh, "bench/crowd", 0, key), "key_open");
}

static void detach(struct lh *lh, struct lh_key *key)
{
	bench_need(lh_key_close(key), "key_close");
	bench_need(lh_close(lh), "lh_close");
}

static void crowd_ours(unsigned int me)
{
	struct lh_lease lease;
	struct lh_key *key;
	uint64_t n = 0;
	struct lh *lh;

	attach(&lh, &key);
	contest_meet();
	while (!contest_stopped()) {
		bench_need(lh_key_acquire(key, NULL, &lease), "acquire");
		bench_need(lh_release(lh, &lease), "release");
		n++;
	}
	ground->done[me].n = n;
	detach(lh, key);
}

static void ping_pong_ours(unsigned int me)
{
	struct lh_lease lease;
	struct lh_key *key;
	uint64_t n = 0;
	struct lh *lh;

	attach(&lh, &key);
	contest_meet();
	while (!contest_stopped()) {
		bench_need(lh_key_acquire(key, NULL, &lease), "acquire");
		n += move(me);
		bench_need(lh_release(lh, &lease), "release");
	}
	ground->done[me].n = n;
	detach(lh, key);
}

/* Waits for its turn.  A CPU of its own is not certain. */
static void await_turn(unsigned int me)
{
	unsigned int i;

	for (i = 1; atomic_load_explicit(&ground->turn,
	    memory_order_acquire) != me && !contest_stopped(); i++)
		if (i % 4096 == 0)
			sched_yield();
}

static void pass_turn(unsigned int me)
{
	atomic_store_explicit(&ground->turn, !me, memory_order_release);
}

static void alternate_mutex(unsigned int me)
{
	uint64_t n = 0;

	contest_meet();
	while (!contest_stopped()) {
		await_turn(me);
		bench_need(pthread_mutex_lock(mutex), "mutex_lock");
		bench_need(pthread_mutex_unlock(mutex), "mutex_unlock");
		pass_turn(me);
		n++;
	}
	ground->done[me].n = n;
}

static void alternate_ours(unsigned int me)
{
	struct lh_lease lease;
	struct lh_key *key;
	uint64_t n = 0;
	struct lh *lh;

	attach(&lh, &key);
	contest_meet();
	while (!contest_stopped()) {
		await_turn(me);
		bench_need(lh_key_acquire(key, NULL, &lease), "acquire");
		bench_need(lh_release(lh, &lease), "release");
		pass_turn(me);
		n++;
	}
	ground->done[me].n = n;
	detach(lh, key);
}

static const struct contest contests[] = {
	{ 8, PLACE_ANY, false, crowd_ours, crowd_mutex, {
	    "contended_8", "robust-mutex",
	    "8 processes, one key, empty section: time an acquisition",
	    ROW_METRIC, 0.85, { 0, 0 }, { 0, 0 }, NULL } },
	{ 2, PLACE_APART, false, alternate_ours, alternate_mutex, {
	    "x_alternate", "robust-mutex",
	    "2 processes on 2 CPUs in turn, never at once: time a turn",
	    ROW_METRIC, 1.2, { 0, 0 }, { 0, 0 }, NULL } },
	{ 2, PLACE_ANY, false, crowd_ours, crowd_mutex, {
	    "contended_2", "robust-mutex", "2 processes, the same",
	    ROW_CONTEXT, 0, { 0, 0 }, { 0, 0 }, NULL } },
	{ 2, PLACE_ANY, false, ping_pong_ours, ping_pong_mutex, {
	    "ping_pong", "robust-mutex",
	    "2 processes that must alternate: time a move",
	    ROW_CONTEXT, 0, { 0, 0 }, { 0, 0 }, NULL } },
};

#define N_ROWS (sizeof(contests) / sizeof(contests[0]))

size_t bench_crowd(struct row **out)
{
	static struct row rows[N_ROWS];

	contest_set_up();
	mutex = bench_robust_mutex();
	contest_run_all(contests, N_ROWS, rows, 200000000);
	*out = rows;
	return N_ROWS;
}
