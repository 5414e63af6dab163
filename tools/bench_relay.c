/* SPDX-License-Identifier: MIT */
/*
 * A lock that goes from one process to another, in samples.
 *
 *   takeover	from just before kill(SIGKILL) of the holder to the return of
 *		the waiter's acquire.  No daemon runs.  For the robust mutex the
 *		waiter's lock returns EOWNERDEAD; ours returns a grant with
 *		LH_NOTE_PREVIOUS_DIED.  Anything else is not a takeover and ends
 *		the run.  flock(2) tells the waiter nothing.
 *   hand-over	from just before the holder's release to the return of the
 *		waiter's acquire.  The waiter sleeps by then, and each of the
 *		two has a CPU, if there are two.  The processor time of both,
 *		for the release and for the wait, is what a wake-up costs.
 *
 * The kernel tells a waiter of ours when a thread of the holder has ended; the
 * waiter then asks for a proof.  Without that it would ask every 20 ms, and the
 * answer would depend on when in that period the holder dies.  The kills are
 * therefore spread evenly over SPREAD_US by the golden ratio, which covers the
 * period far better than as many random numbers would.  The other locks, which
 * the kernel hands over, get the same delays.
 *
 * The writers of struct relay: the parent of the words up to let_go, the
 * holder of those up to released, the waiter of those up to wait_spent_ns.  The
 * words hold the number of a sample, so nothing has to be reset.  No process
 * polls them: one that has nothing to do sleeps, and takes no time from those
 * that are timed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <leasehold.h>

#include "bench_clock.h"
#include "bench_peers.h"
#include "bench_process.h"
#include "bench_relay.h"
#include "bench_rounds.h"

#define SPREAD_US	20000
#define SETTLE_US	2000	/* from the announcement to being asleep */
#define THREADS_MAX	64
#define PATIENCE_MS	10000
#define PATIENCE_NS	(PATIENCE_MS * UINT64_C(1000000))
#define NS_PER_S	UINT64_C(1000000000)
#define QUIT		UINT32_MAX	/* instead of a sample's number */

/* A process's own part of the lock. */
static struct lh *lh;
static struct lh_key *key;
static struct lh_lease lease;
static int flock_fd;

static uint64_t spent_ns(void)
{
	return bench_clock_of(CLOCK_THREAD_CPUTIME_ID);
}

static long futex(_Atomic uint32_t *word, int op, uint32_t value,
    const struct timespec *timeout)
{
	return syscall(SYS_futex, word, op, value, timeout, NULL, 0);
}

static void tell(_Atomic uint32_t *word, uint32_t value)
{
	atomic_store(word, value);
	futex(word, FUTEX_WAKE, INT_MAX, NULL);
}

/* Sleeps until a word has the value; `what` is missing if that takes 10 s. */
static void await(_Atomic uint32_t *word, uint32_t value, const char *what)
{
	const struct timespec patience = { .tv_sec = PATIENCE_NS / NS_PER_S };
	uint64_t end = bench_clock_ns() + PATIENCE_NS;
	uint32_t seen;

	while ((seen = atomic_load(word)) != value) {
		if (bench_clock_ns() > end)
			bench_die("no %s after 10 s", what);
		futex(word, FUTEX_WAIT, seen, &patience);
	}
}

/* Sleeps until a word changes from what it was; returns what it is then. */
static uint32_t await_next(_Atomic uint32_t *word, uint32_t was)
{
	uint32_t seen;

	while ((seen = atomic_load(word)) == was)
		futex(word, FUTEX_WAIT, was, NULL);
	return seen;
}

static void attach_ours(struct relay *relay)
{
	struct lh_open_opts opts = LH_OPEN_OPTS_INIT;

	opts.flags = relay->place.flags;
	bench_need(lh_open(&lh, relay->place.table, &opts), "lh_open");
	bench_need(lh_key_open(lh, relay->place.key, 0, &key), "lh_key_open");
}

/* Returns true if the lock says that the holder before died. */
static bool acquire_ours(struct relay *relay)
{
	(void)relay;
	bench_need(lh_key_acquire(key, NULL, &lease), "lh_key_acquire");
	return lease.notes & LH_NOTE_PREVIOUS_DIED;
}

static void release_ours(struct relay *relay)
{
	(void)relay;
	bench_need(lh_release(lh, &lease), "lh_release");
}

static void detach_ours(void)
{
	bench_need(lh_key_close(key), "lh_key_close");
	bench_need(lh_close(lh), "lh_close");
}

static void attach_mutex(struct relay *relay)
{
	(void)relay;
}

static void detach_mutex(void)
{
}

static bool acquire_mutex(struct relay *relay)
{
	int error = pthread_mutex_lock(relay->mutex);

	if (error != EOWNERDEAD) {
		bench_need(error, "pthread_mutex_lock");
		return false;
	}
	bench_need(pthread_mutex_consistent(relay->mutex),
	    "pthread_mutex_consistent");
	return true;
}

static void release_mutex(struct relay *relay)
{
	bench_need(pthread_mutex_unlock(relay->mutex), "pthread_mutex_unlock");
}

/* A flock is of an open file, so each process opens it. */
static void attach_flock(struct relay *relay)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", relay->file);
	flock_fd = open(path, O_RDWR | O_CLOEXEC);
	if (flock_fd < 0)
		bench_die("%s: %s", path, strerror(errno));
}

static bool acquire_flock(struct relay *relay)
{
	if (flock(flock_fd, LOCK_EX) < 0)
		bench_die("flock: %s", strerror(errno));
	return atomic_load(&relay->by_death);
}

static void release_flock(struct relay *relay)
{
	(void)relay;
	if (flock(flock_fd, LOCK_UN) < 0)
		bench_die("flock: %s", strerror(errno));
}

static void detach_flock(void)
{
	close(flock_fd);
}

static const struct contender {
	const char *name;
	void (*attach)(struct relay *relay);
	void (*detach)(void);
	bool (*acquire)(struct relay *relay);
	void (*release)(struct relay *relay);
} contenders[N_RELAY_LOCKS] = {
	[RELAY_OURS] = { "leasehold", attach_ours, detach_ours, acquire_ours,
	    release_ours },
	[RELAY_MUTEX] = { "robust mutex", attach_mutex, detach_mutex,
	    acquire_mutex, release_mutex },
	[RELAY_FLOCK] = { "flock", attach_flock, detach_flock, acquire_flock,
	    release_flock },
};

static const struct contender *contender_of(const struct relay *relay)
{
	return &contenders[relay->lock];
}

/* Hand-overs are between two CPUs; a waiter for a death runs anywhere. */
static void place_waiter(bool alone)
{
	static bool pinned;

	if (alone && !pinned)
		bench_pin();
	else if (!alone && pinned)
		bench_unpin();
	pinned = alone;
}

/* Waits for the lock in each sample.  Ends the process. */
static void run_waiter(struct relay *relay)
{
	uint64_t before;
	uint32_t k = 0;
	bool died;

	contender_of(relay)->attach(relay);
	while ((k = await_next(&relay->turn, k)) != QUIT) {
		place_waiter(!atomic_load(&relay->by_death));
		tell(&relay->waiting, k);
		before = spent_ns();
		died = contender_of(relay)->acquire(relay);
		atomic_store(&relay->granted_ns, bench_clock_ns());
		atomic_store(&relay->wait_spent_ns, spent_ns() - before);
		if (died != (bool)atomic_load(&relay->by_death))
			bench_die("%s: a grant says that the previous holder "
			    "%s, but it %s", contender_of(relay)->name, died ?
			    "died" : "lives", died ? "lives" : "died");
		contender_of(relay)->release(relay);
		tell(&relay->granted, k);
	}
	contender_of(relay)->detach();
	_exit(0);
}

/* Holds the lock in each sample, until the parent sets let_go.  Ends the
 * process. */
static void run_releaser(struct relay *relay)
{
	uint64_t before;
	uint32_t k = 0;

	bench_pin_nth(1);
	contender_of(relay)->attach(relay);
	while ((k = await_next(&relay->hold, k)) != QUIT) {
		(void)contender_of(relay)->acquire(relay);
		tell(&relay->held, k);
		await(&relay->let_go, k, "order to release");
		before = spent_ns();
		atomic_store(&relay->release_ns, bench_clock_ns());
		contender_of(relay)->release(relay);
		atomic_store(&relay->release_spent_ns, spent_ns() - before);
		tell(&relay->released, k);
	}
	contender_of(relay)->detach();
	_exit(0);
}

static void *compute(void *arg)
{
	volatile unsigned int *n = arg;

	while (*n != UINT32_MAX)
		*n = (*n + 1) / 2;
	return NULL;
}

static void become(const struct relay_holder *holder)
{
	static volatile unsigned int counts[THREADS_MAX * 64];
	unsigned int i;
	pthread_t t;

	if (holder->bytes != 0 && mmap(NULL, holder->bytes,
	    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
	    -1, 0) == MAP_FAILED)
		bench_die("no memory for the holder");
	for (i = 1; i < holder->threads && i < THREADS_MAX; i++)
		bench_need(pthread_create(&t, NULL, compute,
		    (void *)(uintptr_t)&counts[i * 64]), "pthread_create");
}

static int start_holder(struct relay *relay, const struct relay_holder *holder)
{
	int pid = bench_fork();

	if (pid == 0) {
		contender_of(relay)->attach(relay);
		(void)contender_of(relay)->acquire(relay);
		become(holder);
		tell(&relay->held, relay->k);
		for (;;)
			pause();
	}
	return pid;
}

struct relay *bench_relay_start(enum relay_lock lock,
    const struct relay_place *place)
{
	struct relay *relay = bench_shared(sizeof(*relay));
	int pid;

	relay->lock = lock;
	relay->place = *place;
	relay->mutex = bench_robust_mutex();
	relay->file = bench_memory_file();
	pid = bench_fork();
	if (pid == 0)
		run_waiter(relay);
	relay->waiter = pid;
	return relay;
}

double bench_relay_takeover(struct relay *relay,
    const struct relay_holder *kind)
{
	uint32_t k = ++relay->k;
	/* k * 0.618... mod 1, in 32-bit fixed point */
	uint64_t spread = (uint32_t)(k * UINT32_C(2654435769));
	uint64_t begin;
	int holder;

	atomic_store(&relay->by_death, 1);
	holder = start_holder(relay, kind);
	await(&relay->held, k, "holder");
	tell(&relay->turn, k);
	await(&relay->waiting, k, "waiter");
	bench_sleep_us(SETTLE_US + (unsigned int)(spread * SPREAD_US >> 32));
	if (atomic_load(&relay->granted) == k)
		bench_die("%s: granted while the holder lives",
		    contender_of(relay)->name);
	begin = bench_clock_ns();
	kill(holder, SIGKILL);
	if (waitpid(holder, NULL, 0) != holder)
		bench_die("waitpid: %s", strerror(errno));
	await(&relay->granted, k, "grant after the holder's death");
	return (double)(atomic_load(&relay->granted_ns) - begin);
}

struct relay_handover bench_relay_handover(struct relay *relay)
{
	struct relay_handover sample;
	uint32_t k = ++relay->k;
	int pid;

	atomic_store(&relay->by_death, 0);
	if (relay->releaser == 0) {
		pid = bench_fork();
		if (pid == 0)
			run_releaser(relay);
		relay->releaser = pid;
	}
	tell(&relay->hold, k);
	await(&relay->held, k, "holder");
	tell(&relay->turn, k);
	await(&relay->waiting, k, "waiter");
	bench_sleep_us(SETTLE_US);
	if (atomic_load(&relay->granted) == k)
		bench_die("%s: granted while the key is held",
		    contender_of(relay)->name);
	tell(&relay->let_go, k);
	await(&relay->released, k, "release");
	await(&relay->granted, k, "grant after the release");
	sample.latency_ns = (double)(atomic_load(&relay->granted_ns) -
	    atomic_load(&relay->release_ns));
	sample.spent_ns = (double)(atomic_load(&relay->wait_spent_ns) +
	    atomic_load(&relay->release_spent_ns));
	return sample;
}

void bench_relay_stop(struct relay *relay)
{
	tell(&relay->turn, QUIT);
	tell(&relay->hold, QUIT);
	bench_reap(&relay->waiter, 1, PATIENCE_MS, contender_of(relay)->name);
	if (relay->releaser != 0)
		bench_reap(&relay->releaser, 1, PATIENCE_MS,
		    contender_of(relay)->name);
	close(relay->file);
	munmap(relay->mutex, sizeof(*relay->mutex));
	munmap(relay, sizeof(*relay));
}
