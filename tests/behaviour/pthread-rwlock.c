/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G7 and G8 of leasehold/pthread.h, issue 24 D3: a read/write
 * lock of plain data lets readers in together and a writer alone, in threads
 * and processes, and has the results of POSIX threads.
 *
 * Otherwise programs that replace pthread_rwlock by lh_rwlock would read what
 * is just written, or wait for themselves.
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

#define ROUNDS 1000
#define NS (1000 * T_NS_PER_MS)
#define MANY 80

struct shared {
	lh_rwlock_t l;
	long first, second;
	struct t_event locked;
};

static struct shared *sh;
static lh_rwlock_t plain = LH_RWLOCK_INITIALIZER;
static lh_rwlock_t many[MANY];

/* The results of another thread's tries. */
static void *
others(void *arg)
{
	static int error[4];
	struct timespec past = { 1, 0 }, t;

	error[0] = lh_rwlock_tryrdlock(arg);
	if (error[0] == 0)
		(void)lh_rwlock_unlock(arg);
	error[1] = lh_rwlock_trywrlock(arg);
	if (error[1] == 0)
		(void)lh_rwlock_unlock(arg);
	error[2] = lh_rwlock_timedwrlock(arg, &past);
	if (error[2] == 0)
		(void)lh_rwlock_unlock(arg);
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec++;
	error[3] = lh_rwlock_clockrdlock(arg, CLOCK_MONOTONIC, &t);
	if (error[3] == 0)
		(void)lh_rwlock_unlock(arg);
	return error;
}

static int *
in_thread(lh_rwlock_t *l)
{
	return t_join(t_thread(others, l));
}

static void *
write_it(void *arg)
{
	static int error;

	error = lh_rwlock_wrlock(arg);
	if (error == 0)
		error = lh_rwlock_unlock(arg);
	return &error;
}

static void
results(struct lh *lh)
{
	char key[30];
	unsigned long writer;
	int *error;

	is(lh_rwlock_rdlock(&plain), 0, "locked for reading");
	error = in_thread(&plain);
	is(error[0], 0, "another thread reads");
	is(error[1], EBUSY, "and does not write");
	is(error[2], ETIMEDOUT, "nor does it wait for that");
	is(error[3], 0, "and reads");
	is(lh_rwlock_wrlock(&plain), EDEADLK, "who reads does not write");
	is(lh_rwlock_trywrlock(&plain), EBUSY, "nor tries to");
	(void)snprintf(key, sizeof(key), "pthread/%016llx",
	    (unsigned long long)plain.id);
	writer = t_thread(write_it, &plain);
	ok(t_await_waiters(lh, key, 1), "a writer waits");
	is(in_thread(&plain)[0], EBUSY, "and keeps new readers out");
	is(lh_rwlock_rdlock(&plain), 0, "but not who reads");
	is(lh_rwlock_unlock(&plain), 0, "unlocked");
	is(t_waiters(lh, key), 1, "the writer waits still");
	is(lh_rwlock_unlock(&plain), 0, "unlocked for the last time");
	is(*(int *)t_join(writer), 0, "the writer had it");
	is(lh_rwlock_unlock(&plain), EPERM, "not locked");

	is(lh_rwlock_wrlock(&plain), 0, "locked for writing");
	error = in_thread(&plain);
	is(error[0], EBUSY, "nobody reads");
	is(error[1], EBUSY, "nobody writes");
	is(lh_rwlock_rdlock(&plain), EDEADLK, "who writes does not read");
	is(lh_rwlock_tryrdlock(&plain), EBUSY, "nor tries to");
	is(lh_rwlock_timedrdlock(&plain, NULL), EINVAL, "no moment");
	is(lh_rwlock_destroy(&plain), EBUSY, "not destroyed while locked");
	is(lh_rwlock_unlock(&plain), 0, "unlocked");
	is(lh_rwlock_destroy(&plain), 0, "destroyed");
	is(lh_rwlock_rdlock(&plain), EINVAL, "and of no use");
	is(lh_rwlock_init(&plain, NULL), 0, "initialised anew");
	is(lh_rwlock_rdlock(&plain), 0, "locked");
	is(lh_rwlock_unlock(&plain), 0, "unlocked");
}

static void
more_than_once(void)
{
	int wrong = 0, n = 0;

	for (int i = 0; i < MANY; i++)
		wrong += lh_rwlock_rdlock(&many[i]) != 0 ||
		    lh_rwlock_rdlock(&many[i]) != 0;
	is(wrong, 0, "%d locks are read twice", MANY);
	for (int i = 0; i < MANY; i++)
		while (lh_rwlock_unlock(&many[i]) == 0)
			n++;
	is(n, 2 * MANY, "and unlocked as often");
}

static int
child_of_reader(void *arg)
{
	is(lh_rwlock_unlock(arg), EPERM, "in a child: not its own");
	is(lh_rwlock_trywrlock(arg), EBUSY, "and locked");
	is(lh_rwlock_tryrdlock(arg), 0, "for others to read");
	t_post(&sh->locked);
	(void)pause();
	return 0;
}

static int
write_or_read(void *arg)
{
	int torn = 0;

	for (int i = 0; i < ROUNDS; i++) {
		bool writes = i % 4 == 0;

		if ((writes ? lh_rwlock_wrlock(arg) : lh_rwlock_rdlock(arg)) !=
		    0)
			return 1;
		torn += sh->first != sh->second;
		if (writes) {
			sh->first++;
			sh->second++;
		}
		if (lh_rwlock_unlock(arg) != 0)
			return 1;
	}
	return torn;
}

static void
processes(void)
{
	pid_t pid[3];

	is(lh_rwlock_rdlock(&sh->l), 0, "locked for reading");
	is(lh_rwlock_rdlock(&sh->l), 0, "twice");
	pid[0] = t_fork(child_of_reader, &sh->l);
	ok(t_await(&sh->locked, 1, T_HANG_MS), "a child of the reader reads");
	is(lh_rwlock_unlock(&sh->l), 0, "unlocked");
	is(lh_rwlock_unlock(&sh->l), 0, "twice");
	is(lh_rwlock_trywrlock(&sh->l), EBUSY, "the child reads");
	(void)kill(pid[0], SIGKILL);
	(void)t_reap(pid[0], T_HANG_MS);
	is(lh_rwlock_wrlock(&sh->l), 0, "a dead reader is none");
	is(lh_rwlock_unlock(&sh->l), 0, "unlocked");
	for (int i = 0; i < 3; i++)
		pid[i] = t_fork(write_or_read, &sh->l);
	is(write_or_read(&sh->l), 0, "nothing is read while it is written");
	for (int i = 0; i < 3; i++)
		is(t_reap(pid[i], T_HANG_MS), 0, "in another process as well");
	is(sh->first, ROUNDS, "nothing written is lost");
}

int
main(void)
{
	const char *table = t_table();
	struct lh *lh;

	ok(sizeof(lh_rwlock_t) <= 40, "40 bytes at most");
	is(lh_pthread_table(table), 0, "the table");
	is(lh_rwlock_rdlock(NULL), EINVAL, "no lock");
	is(lh_rwlock_init(NULL, NULL), EINVAL, "no lock to initialise");
	is(lh_rwlock_destroy(NULL), EINVAL, "no lock to destroy");
	is(lh_rwlock_unlock(NULL), EINVAL, "no lock to unlock");
	sh = t_shared(sizeof(*sh));
	lh = t_open(table);
	results(lh);
	more_than_once();
	processes();
	is(lh_pthread_end(), 0, "all is given back");
	t_close(lh);
	return done();
}
