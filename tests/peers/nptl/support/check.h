/* SPDX-License-Identifier: MIT */
/* The part of glibc's test support that these tests call: checks, and calls
 * that must succeed.  Its own needs more of glibc than there is here. */
#ifndef PEERS_NPTL_CHECK_H
#define PEERS_NPTL_CHECK_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define UNSUPPORTED 77		/* exit status */

static int peer_failures;
static int test_verbose __attribute__((unused));
#define DEFAULT_TIMEOUT 20

#define FAIL(...) \
	(printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), \
	    printf("\n"), peer_failures++)
#define FAIL_EXIT1(...)	(FAIL(__VA_ARGS__), exit(1))
#define FAIL_UNSUPPORTED(...)	(FAIL(__VA_ARGS__), exit(UNSUPPORTED))
#define TEST_VERIFY(x)	((x) ? 0 : FAIL("not true: %s", #x))
#define TEST_VERIFY_EXIT(x)	((x) ? (void)0 : FAIL_EXIT1("not true: %s", #x))
#define TEST_COMPARE(a, b) \
	do { \
		long long a_ = (long long)(a), b_ = (long long)(b); \
		if (a_ != b_) \
			FAIL("%s is %lld, want %s = %lld", #a, a_, #b, b_); \
	} while (0)

#define PEER_X(call) \
	do { \
		int error_ = (call); \
		if (error_ != 0) \
			FAIL_EXIT1("%s: %s", #call, strerror(error_)); \
	} while (0)
#define xpthread_mutex_init(m, a)	PEER_X(pthread_mutex_init(m, a))
#define xpthread_mutex_destroy(m)	PEER_X(pthread_mutex_destroy(m))
#define xpthread_mutex_lock(m)	PEER_X(pthread_mutex_lock(m))
#define xpthread_mutex_unlock(m)	PEER_X(pthread_mutex_unlock(m))
#define xpthread_mutex_consistent(m)	PEER_X(pthread_mutex_consistent(m))
#define xpthread_mutexattr_init(a)	PEER_X(pthread_mutexattr_init(a))
#define xpthread_mutexattr_destroy(a)	PEER_X(pthread_mutexattr_destroy(a))
#define xpthread_mutexattr_settype(a, t) \
	PEER_X(pthread_mutexattr_settype(a, t))
#define xpthread_mutexattr_setrobust(a, r) \
	PEER_X(pthread_mutexattr_setrobust(a, r))
#define xpthread_mutexattr_setpshared(a, s) \
	PEER_X(pthread_mutexattr_setpshared(a, s))
#define xpthread_mutexattr_setprotocol(a, p) \
	PEER_X(pthread_mutexattr_setprotocol(a, p))
#define xpthread_rwlock_init(l, a)	PEER_X(pthread_rwlock_init(l, a))
#define xpthread_rwlock_destroy(l)	PEER_X(pthread_rwlock_destroy(l))
#define xpthread_rwlock_rdlock(l)	PEER_X(pthread_rwlock_rdlock(l))
#define xpthread_rwlock_wrlock(l)	PEER_X(pthread_rwlock_wrlock(l))
#define xpthread_rwlock_unlock(l)	PEER_X(pthread_rwlock_unlock(l))
#define xpthread_rwlockattr_init(a)	PEER_X(pthread_rwlockattr_init(a))
#define xpthread_rwlockattr_setkind_np(a, k) \
	PEER_X(pthread_rwlockattr_setkind_np(a, k))
#define xpthread_barrier_init(b, a, n)	PEER_X(pthread_barrier_init(b, a, n))
#define xpthread_barrier_destroy(b)	PEER_X(pthread_barrier_destroy(b))
#define xpthread_cancel(t)	PEER_X(pthread_cancel(t))

static inline int
xpthread_barrier_wait(pthread_barrier_t *b)
{
	return pthread_barrier_wait(b) == PTHREAD_BARRIER_SERIAL_THREAD;
}

static inline pthread_t
xpthread_create(pthread_attr_t *a, void *(*fn)(void *arg), void *arg)
{
	pthread_t t;

	PEER_X(pthread_create(&t, a, fn, arg));
	return t;
}

static inline void *
xpthread_join(pthread_t t)
{
	void *result;

	PEER_X(pthread_join(t, &result));
	return result;
}

static inline pid_t
xfork(void)
{
	pid_t pid = fork();

	if (pid < 0)
		FAIL_EXIT1("fork");
	return pid;
}

static inline pid_t
xwaitpid(pid_t pid, int *status, int flags)
{
	pid_t got = waitpid(pid, status, flags);

	if (got < 0)
		FAIL_EXIT1("waitpid");
	return got;
}

static inline void *
xmmap(void *at, size_t len, int prot, int flags, int fd)
{
	void *p = mmap(at, len, prot, flags, fd, 0);

	if (p == MAP_FAILED)
		FAIL_EXIT1("mmap");
	return p;
}

static inline void
xmunmap(void *p, size_t len)
{
	if (munmap(p, len) != 0)
		FAIL_EXIT1("munmap");
}

static inline void
xclock_gettime(clockid_t clock, struct timespec *t)
{
	if (clock_gettime(clock, t) != 0)
		FAIL_EXIT1("clock_gettime");
}

static inline struct timespec
xclock_now(clockid_t clock)
{
	struct timespec t;

	xclock_gettime(clock, &t);
	return t;
}

static inline struct timespec
timespec_add(struct timespec a, struct timespec b)
{
	long ns = a.tv_nsec + b.tv_nsec;

	return (struct timespec){ a.tv_sec + b.tv_sec + ns / 1000000000,
	    ns % 1000000000 };
}

static inline struct timespec
make_timespec(time_t s, long ns)
{
	return (struct timespec){ s, ns };
}

#define TEST_TIMESPEC_NOW_OR_AFTER(clock, t) \
	do { \
		struct timespec n_ = xclock_now(clock); \
		TEST_VERIFY(n_.tv_sec > (t).tv_sec || (n_.tv_sec == \
		    (t).tv_sec && n_.tv_nsec >= (t).tv_nsec)); \
	} while (0)
/* True if a comes before b. */
static inline int
peer_before(struct timespec a, struct timespec b)
{
	return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec &&
	    a.tv_nsec < b.tv_nsec);
}

#define TEST_TIMESPEC_BEFORE(a, b)	TEST_VERIFY(peer_before(a, b))
#define TEST_TIMESPEC_BEFORE_NOW(t, clock) \
	TEST_VERIFY(peer_before(t, xclock_now(clock)))

#define verbose_printf(...)	printf(__VA_ARGS__)

static inline void *
xmalloc(size_t len)
{
	void *p = malloc(len);

	if (p == NULL)
		FAIL_EXIT1("malloc");
	return p;
}

static inline void
xwrite(int fd, const void *bytes, size_t len)
{
	if (write(fd, bytes, len) != (ssize_t)len)
		FAIL_EXIT1("write");
}

#endif
