/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G6 and G8 of leasehold/pthread.h, issue 24 D3: a mutex of
 * plain data excludes threads and processes, and has the results of POSIX
 * threads.  The next holder of a robust one learns that the last one has ended.
 *
 * Otherwise programs that replace pthread_mutex by lh_mutex would do two things
 * at once, or wait for a dead process.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <leasehold/pthread.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define ROUNDS 2000
#define MANY 60
#define NS (1000 * T_NS_PER_MS)

/* In memory of all processes of this test. */
struct shared {
	lh_mutex_t m, other;
	int error;
	long count;
	struct t_event locked;
};

static struct shared *sh;
static lh_mutex_t plain = LH_MUTEX_INITIALIZER;
static lh_mutex_t recursive = LH_RECURSIVE_MUTEX_INITIALIZER;
static lh_mutex_t checking = LH_ERRORCHECK_MUTEX_INITIALIZER;

static struct timespec
moment(clockid_t clock, int64_t ms)
{
	struct timespec t;
	int64_t ns;

	(void)clock_gettime(clock, &t);
	ns = t.tv_sec * NS + t.tv_nsec + ms * T_NS_PER_MS;
	return (struct timespec){ ns / NS, ns % NS };
}

/* The result of another thread's try. */
static void *
try_it(void *arg)
{
	static int error;

	error = lh_mutex_trylock(arg);
	if (error == 0)
		(void)lh_mutex_unlock(arg);
	return &error;
}

static void *
unlock_it(void *arg)
{
	static int error;

	error = lh_mutex_unlock(arg);
	return &error;
}

static int
in_thread(void *(*fn)(void *arg), lh_mutex_t *m)
{
	return *(int *)t_join(t_thread(fn, m));
}

static void
types(void)
{
	is(lh_mutex_lock(&plain), 0, "normal: locked");
	is(in_thread(try_it, &plain), EBUSY, "another thread's try is busy");
	is(in_thread(unlock_it, &plain), EPERM, "and it may not unlock it");
	is(lh_mutex_lock(&plain), EDEADLK, "a second lock is refused");
	is(lh_mutex_trylock(&plain), EBUSY, "a second try is busy");
	is(lh_mutex_unlock(&plain), 0, "unlocked");
	is(lh_mutex_unlock(&plain), EPERM, "and not twice");
	is(in_thread(try_it, &plain), 0, "it is free");

	is(lh_mutex_lock(&recursive), 0, "recursive: locked");
	is(lh_mutex_lock(&recursive), 0, "twice");
	is(lh_mutex_trylock(&recursive), 0, "three times");
	is(lh_mutex_unlock(&recursive), 0, "unlocked");
	is(lh_mutex_unlock(&recursive), 0, "twice");
	is(in_thread(try_it, &recursive), EBUSY, "it is locked still");
	is(lh_mutex_unlock(&recursive), 0, "three times");
	is(in_thread(try_it, &recursive), 0, "it is free");
	is(lh_mutex_unlock(&recursive), EPERM, "and not four times");

	is(lh_mutex_lock(&checking), 0, "errorcheck: locked");
	is(lh_mutex_lock(&checking), EDEADLK, "a second lock is refused");
	is(lh_mutex_unlock(&checking), 0, "unlocked");
}

static void *
wait_for_it(void *arg)
{
	static int error[4];
	struct timespec t = moment(CLOCK_REALTIME, 30);

	error[0] = lh_mutex_timedlock(arg, &t);
	t = moment(CLOCK_MONOTONIC, 30);
	error[1] = lh_mutex_clocklock(arg, CLOCK_MONOTONIC, &t);
	error[2] = lh_mutex_clocklock(arg, CLOCK_PROCESS_CPUTIME_ID, &t);
	t.tv_nsec = -1;
	error[3] = lh_mutex_timedlock(arg, &t);
	return error;
}

static void
times(void)
{
	int64_t then = t_now_ns();
	struct timespec past = { 1, 0 };
	int *error;

	is(lh_mutex_timedlock(&plain, &past), 0,
	    "a moment of the past: locked at once");
	error = t_join(t_thread(wait_for_it, &plain));
	is(error[0], ETIMEDOUT, "timedlock ends");
	is(error[1], ETIMEDOUT, "clocklock ends");
	ok(t_since_ms(then) >= 60, "and neither of them early");
	is(error[2], EINVAL, "another clock is refused");
	is(error[3], EINVAL, "so are wrong nanoseconds");
	is(lh_mutex_unlock(&plain), 0, "unlocked");
	is(lh_mutex_timedlock(&plain, NULL), EINVAL, "no moment is refused");
}

/* Locks, and leaves it so. */
static void *
lock_and_end(void *arg)
{
	static int error;

	error = lh_mutex_lock(arg);
	return &error;
}

static __attribute__((noreturn)) int
lock_and_pause(void *arg)
{
	sh->error = lh_mutex_lock(arg);
	t_post(&sh->locked);
	for (;;)
		(void)pause();
}

/* In a process of its own, which is killed. */
static int
lock_and_be_killed(lh_mutex_t *m)
{
	uint32_t before = sh->locked.count;
	pid_t pid = t_fork(lock_and_pause, m);

	if (!t_await(&sh->locked, before + 1, T_HANG_MS))
		bail_out("the child does not lock");
	is(lh_mutex_trylock(m), EBUSY, "another process has it");
	(void)kill(pid, SIGKILL);
	(void)t_reap(pid, T_HANG_MS);
	return sh->error;
}

static void
robust(void)
{
	lh_mutexattr_t attr;
	int value;

	is(lh_mutexattr_init(&attr), 0, "attributes");
	is(lh_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST), 0, "robust");
	is(lh_mutexattr_getrobust(&attr, &value), 0, "read");
	is(value, PTHREAD_MUTEX_ROBUST, "robust");
	is(lh_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED), 0, "shared");
	is(lh_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT), EOPNOTSUPP,
	    "priorities are not inherited");
	is(lh_mutexattr_setprotocol(&attr, 99), EINVAL, "no protocol");
	is(lh_mutexattr_settype(&attr, 77), EINVAL, "no type");
	is(lh_mutex_init(&sh->m, &attr), 0, "initialised");

	is(lock_and_be_killed(&sh->m), 0, "a process has locked it and dies");
	is(lh_mutex_lock(&sh->m), EOWNERDEAD, "the next one learns it");
	is(in_thread(try_it, &sh->m), EBUSY, "and has it");
	is(lh_mutex_consistent(&sh->m), 0, "it is consistent");
	is(lh_mutex_consistent(&sh->m), EINVAL, "once");
	is(lh_mutex_unlock(&sh->m), 0, "unlocked");
	is(in_thread(try_it, &sh->m), 0, "and then nobody");

	is(in_thread(lock_and_end, &sh->m), 0,
	    "a thread has locked it and ends");
	is(lh_mutex_lock(&sh->m), EOWNERDEAD, "the next one learns it");
	is(lock_and_be_killed(&sh->other), 0, "another one, not robust");
	is(lh_mutex_lock(&sh->other), 0, "is free");
	is(lh_mutex_unlock(&sh->other), 0, "unlocked");
	is(lh_mutex_unlock(&sh->m), 0, "unlocked, and not consistent");
	is(lh_mutex_lock(&sh->m), ENOTRECOVERABLE, "lost");
	is(lh_mutex_trylock(&sh->m), ENOTRECOVERABLE, "for every try");
	is(lh_mutex_destroy(&sh->m), 0, "destroyed");
	is(lh_mutex_lock(&sh->m), EINVAL, "and of no use");
	is(lh_mutex_init(&sh->m, &attr), 0, "initialised anew");
	is(lh_mutex_lock(&sh->m), 0, "locked");
	is(lh_mutex_destroy(&sh->m), EBUSY, "not destroyed while it is");
	is(lh_mutex_unlock(&sh->m), 0, "unlocked");
	is(lh_mutex_destroy(&sh->m), 0, "destroyed");
}

/* One that waits when the mutex is lost. */
static void *
lock_it(void *arg)
{
	static int error;

	error = lh_mutex_lock(arg);
	return &error;
}

static void
lost_while_waited_for(struct lh *lh)
{
	lh_mutex_t m = LH_ROBUST_MUTEX_INITIALIZER;
	struct lh_lease l;
	char key[30];
	unsigned long waiter;

	is(in_thread(lock_and_end, &m), 0, "a thread has locked it and ends");
	is(lh_mutex_lock(&m), EOWNERDEAD, "the next one learns it");
	(void)snprintf(key, sizeof(key), "pthread/%016llx",
	    (unsigned long long)m.id);
	waiter = t_thread(lock_it, &m);
	ok(t_await_waiters(lh, key, 1), "one waits for it");
	is(lh_mutex_unlock(&m), 0, "unlocked, and not consistent");
	is(*(int *)t_join(waiter), ENOTRECOVERABLE, "lost for the one as well");

	is(lh_mutex_init(&m, NULL), 0, "a new one");
	is(lh_mutex_lease(&m, &l), EPERM, "has no lease");
	is(lh_mutex_lock(&m), 0, "locked");
	is(lh_mutex_lease(&m, &l), 0, "now it has");
	ok(l.token > 0, "with a token");
	(void)snprintf(key, sizeof(key), "pthread/%016llx",
	    (unsigned long long)m.id);
	is(lh_break(lh, key, l.id, l.token), 1, "an operator breaks it");
	is(lh_mutex_unlock(&m), ESTALE, "the unlock says so");
	is(lh_mutex_destroy(&m), 0, "destroyed");
}

static int
child_of_holder(void *arg)
{
	is(lh_mutex_unlock(arg), EPERM, "in a child: not its own");
	is(lh_mutex_trylock(arg), EBUSY, "and locked");
	return 0;
}

static int
count_up(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (lh_mutex_lock(arg) != 0)
			return 1;
		sh->count++;
		if (lh_mutex_unlock(arg) != 0)
			return 1;
	}
	return 0;
}

/* More than a thread keeps open when it does not hold them. */
static void
many(void)
{
	static lh_mutex_t m[MANY];
	int wrong = 0;

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < MANY; i++)
			wrong += lh_mutex_lock(&m[i]) != 0;
		for (int i = 0; i < MANY; i += 7)
			wrong += in_thread(try_it, &m[i]) != EBUSY;
		for (int i = 0; i < MANY; i++)
			wrong += lh_mutex_unlock(&m[(i * 7 + round) % MANY]) !=
			    0;
		for (int i = 0; i < MANY; i++)
			wrong += in_thread(try_it, &m[i]) != 0;
	}
	is(wrong, 0, "%d mutexes, locked together and each unlocked", MANY);
}

static void
processes(void)
{
	pid_t pid[3];

	is(lh_mutex_lock(&sh->other), 0, "locked");
	is(t_reap(t_fork(child_of_holder, &sh->other), T_HANG_MS), 0,
	    "a child of the holder");
	is(lh_mutex_unlock(&sh->other), 0, "unlocked");
	for (int i = 0; i < 3; i++)
		pid[i] = t_fork(count_up, &sh->other);
	is(count_up(&sh->other), 0, "counted");
	for (int i = 0; i < 3; i++)
		is(t_reap(pid[i], T_HANG_MS), 0, "so has another process");
	is(sh->count, 4 * ROUNDS, "no count is lost");
}

int
main(void)
{
	const char *table = t_table();
	struct lh *lh;

	ok(sizeof(lh_mutex_t) <= 40, "40 bytes at most");
	is(lh_pthread_table(""), EINVAL, "no table has no name");
	is(lh_pthread_table(table), 0, "the table");
	is(lh_mutex_lock(NULL), EINVAL, "no mutex");
	is(lh_mutex_init(NULL, NULL), EINVAL, "no mutex to initialise");
	is(lh_mutex_destroy(NULL), EINVAL, "no mutex to destroy");
	is(lh_mutex_unlock(NULL), EINVAL, "no mutex to unlock");
	sh = t_shared(sizeof(*sh));
	types();
	is(lh_pthread_table(table), EBUSY, "a table is in use");
	times();
	robust();
	lh = t_open(table);
	lost_while_waited_for(lh);
	many();
	processes();
	is(lh_pthread_end(), 0, "all is given back");
	t_close(lh);
	return done();
}
