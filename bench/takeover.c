/* SPDX-License-Identifier: MIT */
/*
 * How soon does a waiter get what a dead process held?
 *
 * From just before kill(SIGKILL) of the holder to the return of the waiter's
 * acquire.  No daemon runs.  For the robust mutex the waiter's lock returns
 * EOWNERDEAD; ours returns a grant with LH_NOTE_PREVIOUS_DIED, and anything
 * else is not a takeover and ends the run.
 *
 * The kernel tells a waiter of ours when a thread of the holder has ended; the
 * waiter then asks for a proof.  Without that it would ask every 20 ms, and the
 * answer would depend on when in that period the holder dies.  The kills are
 * therefore spread evenly over SPREAD_US by the golden ratio, which covers the
 * period far better than as many random numbers would.  The mutex, which the
 * kernel hands over, gets the same delays.
 *
 * There are three kinds of holders.  One has one thread.  Another has eight, of
 * which seven compute, so they need a processor to die on.  The third has one
 * thread and 1 GiB of memory, torn down after the kernel has marked the mutex.
 *
 * The writers of struct relay (one a side): the parent of turn, the holder of
 * held, the waiter of waiting, granted_ns and granted.  All hold the number of
 * a sample, so nothing has to be reset.
 */
#include <errno.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <leasehold.h>

#include "bench.h"

#define SPREAD_US	20000
#define SETTLE_US	2000	/* from the announcement to being asleep */
#define THREADS		8
#define BIG_BYTES	((size_t)1 << 30)
#define BIG_SAMPLES	7
#define PATIENCE_NS	UINT64_C(10000000000)

struct relay {
	alignas(64) _Atomic uint32_t turn;
	alignas(64) _Atomic uint32_t held;
	alignas(64) _Atomic uint32_t waiting;
	_Atomic uint32_t granted;
	_Atomic uint64_t granted_ns;
};

static pthread_mutex_t *mutex;

static void await(_Atomic uint32_t *word, uint32_t value, const char *what)
{
	uint64_t end = bench_clock_ns() + PATIENCE_NS;

	while (atomic_load(word) != value) {
		if (bench_clock_ns() > end)
			bench_die("takeover: no %s after 10 s", what);
		bench_sleep_us(100);
	}
}

static void hold_ours(void)
{
	struct lh_lease lease;
	struct lh *lh;

	bench_need(lh_open(&lh, bench.table, NULL), "lh_open");
	bench_need(lh_acquire(lh, "bench/takeover", NULL, &lease), "acquire");
}

static void hold_mutex(void)
{
	bench_need(pthread_mutex_lock(mutex), "mutex_lock");
}

/* Never returns: ends with its parent. */
static void wait_ours(struct relay *relay)
{
	struct lh_lease lease;
	struct lh_key *key;
	struct lh *lh;
	uint32_t k;

	bench_need(lh_open(&lh, bench.table, NULL), "lh_open");
	bench_need(lh_key_open(lh, "bench/takeover", 0, &key), "key_open");
	for (k = 1;; k++) {
		while (atomic_load(&relay->turn) != k)
			bench_sleep_us(100);
		atomic_store(&relay->waiting, k);
		bench_need(lh_key_acquire(key, NULL, &lease), "acquire");
		atomic_store(&relay->granted_ns, bench_clock_ns());
		if (!(lease.notes & LH_NOTE_PREVIOUS_DIED))
			bench_die("takeover: the grant does not say that the "
			    "previous holder died (notes 0x%x)", lease.notes);
		bench_need(lh_release(lh, &lease), "release");
		atomic_store(&relay->granted, k);
	}
}

static void wait_mutex(struct relay *relay)
{
	uint32_t k;
	int error;

	for (k = 1;; k++) {
		while (atomic_load(&relay->turn) != k)
			bench_sleep_us(100);
		atomic_store(&relay->waiting, k);
		error = pthread_mutex_lock(mutex);
		atomic_store(&relay->granted_ns, bench_clock_ns());
		if (error != EOWNERDEAD)
			bench_die("takeover: mutex_lock gave %d", error);
		bench_need(pthread_mutex_consistent(mutex),
		    "mutex_consistent");
		bench_need(pthread_mutex_unlock(mutex), "mutex_unlock");
		atomic_store(&relay->granted, k);
	}
}

static const struct contender {
	void (*hold)(void);
	void (*wait)(struct relay *relay);
} contenders[2] = {
	{ hold_ours, wait_ours },
	{ hold_mutex, wait_mutex },
};

/* A kind of holder. */
struct kind {
	unsigned int threads;
	size_t bytes;		/* resident */
};

static void *compute(void *arg)
{
	volatile unsigned int *n = arg;

	while (*n != UINT32_MAX)
		*n = (*n + 1) / 2;
	return NULL;
}

static void become(const struct kind *kind)
{
	static volatile unsigned int counts[THREADS * 64];
	unsigned int i;
	pthread_t t;

	if (kind->bytes != 0 && mmap(NULL, kind->bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED)
		bench_die("takeover: no memory for the holder");
	for (i = 1; i < kind->threads; i++)
		bench_need(pthread_create(&t, NULL, compute,
		    (void *)(uintptr_t)&counts[i * 64]), "pthread_create");
}

static int start_holder(const struct contender *contender,
    const struct kind *kind, struct relay *relay, uint32_t k)
{
	int pid = bench_fork();

	if (pid == 0) {
		contender->hold();
		become(kind);
		atomic_store(&relay->held, k);
		for (;;)
			pause();
	}
	return pid;
}

static double sample(const struct contender *contender,
    const struct kind *kind, struct relay *relay, uint32_t k)
{
	/* k * 0.618... mod 1, in 32-bit fixed point */
	uint64_t spread = (uint32_t)(k * UINT32_C(2654435769));
	uint64_t begin;
	int holder;

	holder = start_holder(contender, kind, relay, k);
	await(&relay->held, k, "holder");
	atomic_store(&relay->turn, k);
	await(&relay->waiting, k, "waiter");
	bench_sleep_us(SETTLE_US + (unsigned int)(spread * SPREAD_US >> 32));
	if (atomic_load(&relay->granted) == k)
		bench_die("takeover: granted while the holder lives");
	begin = bench_clock_ns();
	kill(holder, SIGKILL);
	if (waitpid(holder, NULL, 0) != holder)
		bench_die("takeover: waitpid: %s", strerror(errno));
	await(&relay->granted, k, "grant after the holder's death");
	return (double)(atomic_load(&relay->granted_ns) - begin);
}

static struct relay *relay[2];
static uint32_t turn;		/* number of the sample before */

/* Takes n samples of each side, in turn. */
static void measure(const struct kind *kind, double ns[2][MAX_ROUNDS],
    unsigned int n)
{
	unsigned int i, side;

	for (i = 0; i < n; i++) {
		turn++;
		for (side = 0; side < 2; side++)
			ns[side][i] = sample(&contenders[side], kind,
			    relay[side], turn);
	}
}

size_t bench_takeover(struct row **out)
{
	static struct row rows[] = {
		{ "takeover", "robust-mutex",
		    "kill -9 of the holder to the waiter's grant, p99",
		    ROW_METRIC, 3, { 0, 0 }, { 0, 0 }, NULL },
		{ "takeover_p50", "robust-mutex", "the same, median",
		    ROW_METRIC, 2, { 0, 0 }, { 0, 0 }, NULL },
		{ "takeover_8", "robust-mutex",
		    "of a holder of 8 threads, 7 of which compute; median",
		    ROW_METRIC, 5, { 0, 0 }, { 0, 0 }, NULL },
		{ "takeover_1g", "robust-mutex",
		    "of a holder with 1 GiB resident; median of 7",
		    ROW_METRIC, 3, { 0, 0 }, { 0, 0 }, NULL },
	};
	static const struct kind kinds[] = { { 1, 0 }, { THREADS, 0 },
	    { 1, BIG_BYTES } };
	static double ns[2][MAX_ROUNDS];
	const unsigned int samples[] = { bench.quick ? 120 : 500,
	    bench.quick ? 60 : 200, BIG_SAMPLES };
	struct figures *to;
	unsigned int side, i;
	int waiters[2];

	mutex = bench_robust_mutex();
	turn = 0;
	for (side = 0; side < 2; side++) {
		relay[side] = bench_shared(sizeof(*relay[side]));
		waiters[side] = bench_fork();
		if (waiters[side] == 0)
			contenders[side].wait(relay[side]);
	}
	for (i = 0; i < 3; i++) {
		measure(&kinds[i], ns, samples[i]);
		for (side = 0; side < 2; side++) {
			to = side == 0 ? &rows[i + 1].ours :
			    &rows[i + 1].theirs;
			*to = bench_summarise(ns[side], samples[i]);
			if (i != 0)
				continue;
			to = side == 0 ? &rows[0].ours : &rows[0].theirs;
			to->mid_ns = bench_percentile(ns[side], samples[i], 99);
			to->min_ns = rows[1].ours.min_ns;
			if (side == 1)
				to->min_ns = rows[1].theirs.min_ns;
		}
	}
	for (side = 0; side < 2; side++) {
		kill(waiters[side], SIGKILL);
		waitpid(waiters[side], NULL, 0);
	}
	*out = rows;
	return sizeof(rows) / sizeof(rows[0]);
}
