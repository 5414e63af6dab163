/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G4, timing T2: a process is killed whose threads come and
 * go, compute, and stamp shared memory as long as they can.  Its key is
 * granted to a waiter, and no stamp is set after that.  With one thread that
 * takes about as long as until another process has a robust mutex that the
 * dead one held, also if it has much memory, whose teardown takes longer.
 *
 * Otherwise a waiter would be granted the key while threads of the dead process
 * still write to what the key protects, or would wait until the memory is gone.
 */
/* test: slow 6 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define STAMPS 64
#define ROUNDS 15

struct shared {
	const char *table;
	struct t_event held;
	int threads;
	bool chain;
	size_t memory;
	_Atomic uint64_t stamp[STAMPS];
	pthread_mutex_t mutex;
};

static struct shared *sh;

static void *
stamp_for_ever(void *arg)
{
	_Atomic uint64_t *to = arg;

	for (;;)
		atomic_fetch_add(to, 1);
	return NULL;
}

/* Each thread stamps, makes the next one, and ends. */
static void *
stamp_and_pass_on(void *arg)
{
	_Atomic uint64_t *to = arg;
	pthread_attr_t attr;
	pthread_t t;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attr, 65536);
	for (int i = 0; i < 1000; i++)
		atomic_fetch_add(to, 1);
	while (pthread_create(&t, &attr, stamp_and_pass_on, arg) != 0)
		atomic_fetch_add(to, 1);
	(void)pthread_attr_destroy(&attr);
	return NULL;
}

static int
hold_and_stamp(void *arg)
{
	struct lh *lh = t_open(sh->table);
	pthread_t t;

	(void)arg;
	if (sh->memory != 0 && mmap(NULL, sh->memory, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED)
		return 2;
	(void)t_hold(lh, "k");
	(void)pthread_mutex_lock(&sh->mutex);
	for (int i = 1; i < sh->threads; i++)
		(void)pthread_create(&t, NULL, sh->chain ? stamp_and_pass_on :
		    stamp_for_ever, (void *)(uintptr_t)&sh->stamp[i]);
	t_post(&sh->held);
	for (;;)
		if (sh->threads == 1)
			(void)pause();
		else
			atomic_fetch_add(&sh->stamp[0], 1);
}

static int
take_mutex(struct t_actor *a, void *arg)
{
	int error = pthread_mutex_lock(&sh->mutex);

	a->ended_ns = t_now_ns();
	if (error == EOWNERDEAD)
		(void)pthread_mutex_consistent(&sh->mutex);
	(void)pthread_mutex_unlock(&sh->mutex);
	(void)arg;
	return error;
}

static int
by_time(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The waiters of key and mutex. */
struct waiters {
	struct t_actor *key, *mutex;
	int64_t key_us[ROUNDS], mutex_us[ROUNDS];
};

/* One takeover.  False: a stamp was set after it, or it failed. */
static bool
take_over(struct waiters *w, int round)
{
	uint64_t seen[STAMPS];
	int64_t killed_ns;
	bool set = false;
	siginfo_t si;
	pid_t pid = t_fork(hold_and_stamp, NULL);

	if (!t_await(&sh->held, (uint32_t)round + 1, T_HANG_MS))
		return false;
	t_begin_acquire(w->key, "k", 3600000, 3600000);
	t_begin(w->mutex, take_mutex, NULL);
	t_sleep_ms(3 + round * 13 / 10);
	killed_ns = t_now_ns();
	(void)t_signal(pid, SIGKILL);
	if (t_result(w->key) != 0)
		return false;
	for (int i = 0; i < STAMPS; i++)
		seen[i] = atomic_load(&sh->stamp[i]);
	(void)waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT);
	for (int i = 0; i < STAMPS; i++)
		set = set || atomic_load(&sh->stamp[i]) != seen[i];
	t_kill(pid);
	is(t_result(w->mutex), EOWNERDEAD, "the mutex was taken over");
	w->key_us[round] = (w->key->ended_ns - killed_ns) / 1000;
	w->mutex_us[round] = (w->mutex->ended_ns - killed_ns) / 1000;
	return t_do_release(w->key) == 0 && !set;
}

static int64_t
median(int64_t us[ROUNDS])
{
	qsort(us, ROUNDS, sizeof(us[0]), by_time);
	return us[ROUNDS / 2];
}

/* A waiter asks after 20 ms anyway, which is 10 ms in the middle. */
static bool
is_soon(void *arg)
{
	struct waiters *w = arg;
	int64_t key_us, mutex_us;
	int late = 0;

	sh->held.count = 0;
	for (int i = 0; i < ROUNDS; i++)
		late += !take_over(w, i);
	is(late, 0, "no thread of it runs after the grant");
	key_us = median(w->key_us);
	mutex_us = median(w->mutex_us);
	diag("%d threads, %zu MiB: median %lld us, of a mutex %lld us",
	    sh->threads, sh->memory >> 20, (long long)key_us,
	    (long long)mutex_us);
	return sh->threads > 1 || key_us < 3 * mutex_us + 4000;
}

int
main(void)
{
	static const struct {
		int threads;
		bool chain;
		size_t mib;
		const char *what;
	} parts[] = {
		{ 1, false, 0, "one thread" },
		{ 8, false, 0, "eight threads that compute" },
		{ 4, true, 0, "threads that come and go" },
		{ 1, false, 256, "256 MiB of memory" },
	};
	pthread_mutexattr_t a;
	struct waiters w;

	sh = t_shared(sizeof(*sh));
	sh->table = t_table();
	(void)pthread_mutexattr_init(&a);
	(void)pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	(void)pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	(void)pthread_mutex_init(&sh->mutex, &a);
	w.key = t_actor(sh->table);
	w.mutex = t_actor(sh->table);
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		sh->threads = parts[i].threads;
		sh->chain = parts[i].chain;
		sh->memory = parts[i].mib << 20;
		ok(t_tries(4, is_soon, &w), "%s: taken over in time",
		    parts[i].what);
	}
	t_actor_end(w.key);
	t_actor_end(w.mutex);
	return done();
}
