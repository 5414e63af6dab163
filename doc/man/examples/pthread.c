/* SPDX-License-Identifier: MIT */
/* Examples of leasehold/pthread.h (tools/man3). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <leasehold.h>
#include <leasehold/pthread.h>

/* Shared by processes. */
struct account {
	lh_mutex_t mutex;
	lh_rwlock_t rates_lock;
	long balance, rate;
};

/* Sets the attributes of a robust mutex, and prints those that it has. */
static int
set_robust(lh_mutexattr_t *attr)
{
	int type = 0, robust = 0, shared = 0, protocol = 0;
	int e = lh_mutexattr_init(attr);

	if (e == 0)
		e = lh_mutexattr_settype(attr, PTHREAD_MUTEX_ERRORCHECK);
	if (e == 0)
		e = lh_mutexattr_setrobust(attr, PTHREAD_MUTEX_ROBUST);
	if (e == 0)
		e = lh_mutexattr_setpshared(attr, PTHREAD_PROCESS_SHARED);
	if (e == 0)
		e = lh_mutexattr_setprotocol(attr, PTHREAD_PRIO_NONE);
	if (e != 0)
		return e;
	(void)lh_mutexattr_gettype(attr, &type);
	(void)lh_mutexattr_getrobust(attr, &robust);
	(void)lh_mutexattr_getpshared(attr, &shared);
	(void)lh_mutexattr_getprotocol(attr, &protocol);
	printf("type %d, robust %d, shared %d, protocol %d\n", type, robust,
	    shared, protocol);
	return 0;
}

/* Sets the attributes of a read/write lock. */
static int
set_shared(lh_rwlockattr_t *attr)
{
	int shared = 0, kind = 0;
	int e = lh_rwlockattr_init(attr);

	if (e == 0)
		e = lh_rwlockattr_setpshared(attr, PTHREAD_PROCESS_SHARED);
	if (e == 0)
		e = lh_rwlockattr_setkind_np(attr,
		    PTHREAD_RWLOCK_PREFER_WRITER_NP);
	if (e != 0)
		return e;
	(void)lh_rwlockattr_getpshared(attr, &shared);
	(void)lh_rwlockattr_getkind_np(attr, &kind);
	printf("shared %d, kind %d\n", shared, kind);
	return 0;
}

/* Makes both locks. */
static int
make_account(struct account *a)
{
	lh_rwlockattr_t shared;
	lh_mutexattr_t robust;
	int e = set_robust(&robust);

	if (e == 0)
		e = lh_mutex_init(&a->mutex, &robust);
	if (e == 0)
		e = set_shared(&shared);
	if (e == 0)
		e = lh_rwlock_init(&a->rates_lock, &shared);
	(void)lh_mutexattr_destroy(&robust);
	(void)lh_rwlockattr_destroy(&shared);
	return e;
}

/* Pays in, and repairs what a holder that died has left. */
static int
pay_in(struct account *a, long sum)
{
	struct lh_lease lease;
	int e = lh_mutex_lock(&a->mutex);

	if (e == EOWNERDEAD) {
		if (a->balance < 0)
			a->balance = 0;
		e = lh_mutex_consistent(&a->mutex);
	}
	if (e != 0) {
		fprintf(stderr, "%s\n", lh_error_detail());
		return e;
	}
	a->balance += sum;
	if (lh_mutex_lease(&a->mutex, &lease) == 0)
		printf("by token %" PRIu64 "\n", lease.token);
	return lh_mutex_unlock(&a->mutex);
}

static struct timespec
in_a_second(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	t.tv_sec++;
	return t;
}

/* Pays in unless the account is locked for longer than a second. */
static int
pay_in_soon(struct account *a, long sum)
{
	struct timespec until = in_a_second(CLOCK_MONOTONIC);
	int e = lh_mutex_trylock(&a->mutex);

	if (e == EBUSY)
		e = lh_mutex_clocklock(&a->mutex, CLOCK_MONOTONIC, &until);
	if (e == ETIMEDOUT) {
		until = in_a_second(CLOCK_REALTIME);
		e = lh_mutex_timedlock(&a->mutex, &until);
	}
	if (e != 0)
		return e;
	a->balance += sum;
	return lh_mutex_unlock(&a->mutex);
}

/* Reads the rate; or -1. */
static long
read_rate(struct account *a)
{
	struct timespec until = in_a_second(CLOCK_MONOTONIC);
	long rate;
	int e = lh_rwlock_tryrdlock(&a->rates_lock);

	if (e == EBUSY)
		e = lh_rwlock_clockrdlock(&a->rates_lock, CLOCK_MONOTONIC,
		    &until);
	if (e == ETIMEDOUT) {
		until = in_a_second(CLOCK_REALTIME);
		e = lh_rwlock_timedrdlock(&a->rates_lock, &until);
	}
	if (e == ETIMEDOUT)
		e = lh_rwlock_rdlock(&a->rates_lock);
	if (e != 0)
		return -1;
	rate = a->rate;
	(void)lh_rwlock_unlock(&a->rates_lock);
	return rate;
}

static int
set_rate(struct account *a, long rate)
{
	struct timespec until = in_a_second(CLOCK_MONOTONIC);
	int e = lh_rwlock_trywrlock(&a->rates_lock);

	if (e == EBUSY)
		e = lh_rwlock_clockwrlock(&a->rates_lock, CLOCK_MONOTONIC,
		    &until);
	if (e == ETIMEDOUT) {
		until = in_a_second(CLOCK_REALTIME);
		e = lh_rwlock_timedwrlock(&a->rates_lock, &until);
	}
	if (e == ETIMEDOUT)
		e = lh_rwlock_wrlock(&a->rates_lock);
	if (e != 0)
		return e;
	a->rate = rate;
	return lh_rwlock_unlock(&a->rates_lock);
}

static int
end_account(struct account *a)
{
	int e = lh_mutex_destroy(&a->mutex);

	if (e == 0)
		e = lh_rwlock_destroy(&a->rates_lock);
	return e != 0 ? e : lh_pthread_end();
}

/* Chooses the default table, before the first lock. */
static int
choose_table(void)
{
	return lh_pthread_table(NULL);
}

int
main(void)
{
	struct account a = { .balance = 0 };
	int e = choose_table();

	if (e == 0)
		e = make_account(&a);
	if (e == 0)
		e = pay_in(&a, 100);
	if (e == 0)
		e = pay_in_soon(&a, 1);
	if (e == 0)
		e = set_rate(&a, 3);
	if (e == 0 && (read_rate(&a) != 3 || a.balance != 101))
		e = EIO;
	if (e == 0)
		e = end_account(&a);
	return e != 0;
}
