/* SPDX-License-Identifier: MIT */
/*
 * The processes of a benchmark: how they begin, fail and end, and the memory
 * and locks that they share.
 *
 * A process is killed by the kernel when its parent dies (PR_SET_PDEATHSIG), so
 * none outlives the first one.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <leasehold.h>

#include "bench_clock.h"
#include "bench_process.h"

static void print_failure(int error, const char *sentence)
{
	(void)error;
	fflush(stdout);
	fprintf(stderr, "bench: %s\n", sentence);
}

static void (*failure_sink)(int error, const char *sentence) = print_failure;

void bench_failure_to(void (*sink)(int error, const char *sentence))
{
	failure_sink = sink;
}

/* Reports the reason and ends this process; its parent passes that on. */
void bench_die(const char *fmt, ...)
{
	char sentence[1024];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(sentence, sizeof(sentence), fmt, args);
	va_end(args);
	failure_sink(0, sentence);
	_exit(COULD_NOT_MEASURE);
}

/* Does the same for a call that failed.  A negative error is from a call of
 * ours, which has a sentence to say. */
void bench_fail(int error, const char *what)
{
	const char *detail = error < 0 ? lh_error_detail() : "";
	char sentence[1024];

	if (*detail != '\0')
		(void)snprintf(sentence, sizeof(sentence), "%s: %s", what,
		    detail);
	else
		(void)snprintf(sentence, sizeof(sentence), "%s: %s", what,
		    error < 0 ? lh_strerror(error) : strerror(error));
	failure_sink(error, sentence);
	_exit(COULD_NOT_MEASURE);
}

/* Zeroed memory that forked children share; page-aligned, kept to the end. */
void *bench_shared(size_t size)
{
	void *p;

	p = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		bench_die("mmap: %s", strerror(errno));
	return p;
}

/* The peer of most metrics, alone on its page. */
pthread_mutex_t *bench_robust_mutex(void)
{
	pthread_mutex_t *mutex = bench_shared(sizeof(*mutex));
	pthread_mutexattr_t attr;

	bench_need(pthread_mutexattr_init(&attr), "mutexattr_init");
	bench_need(pthread_mutexattr_setpshared(&attr,
	    PTHREAD_PROCESS_SHARED), "mutexattr_setpshared");
	bench_need(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST),
	    "mutexattr_setrobust");
	bench_need(pthread_mutex_init(mutex, &attr), "mutex_init");
	pthread_mutexattr_destroy(&attr);
	return mutex;
}

/* The peer of those who share, likewise. */
pthread_rwlock_t *bench_pshared_rwlock(void)
{
	pthread_rwlock_t *rwlock = bench_shared(sizeof(*rwlock));
	pthread_rwlockattr_t attr;

	bench_need(pthread_rwlockattr_init(&attr), "rwlockattr_init");
	bench_need(pthread_rwlockattr_setpshared(&attr,
	    PTHREAD_PROCESS_SHARED), "rwlockattr_setpshared");
	bench_need(pthread_rwlock_init(rwlock, &attr), "rwlock_init");
	pthread_rwlockattr_destroy(&attr);
	return rwlock;
}

/* As fork(), but never fails, and the child does not outlive its parent. */
int bench_fork(void)
{
	pid_t parent = getpid();
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		bench_die("fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(COULD_NOT_MEASURE);
	}
	return pid;
}

bool bench_ended_well(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void kill_all(const int *pids, const bool *gone, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!gone[i])
			kill(pids[i], SIGKILL);
}

/*
 * Waits for workers that were asked to end.  One that fails has already printed
 * the reason; one that does not end is killed, and that is a finding.
 */
void bench_reap(const int *pids, size_t n, unsigned int patience_ms,
    const char *what)
{
	uint64_t end = bench_clock_ns() + patience_ms * UINT64_C(1000000);
	bool gone[128] = { false };
	size_t left = n;
	int status;
	size_t i;

	if (n > sizeof(gone) / sizeof(gone[0]))
		bench_die("%s: %zu processes are too many", what, n);
	while (left > 0) {
		for (i = 0; i < n; i++) {
			if (gone[i] || waitpid(pids[i], &status, WNOHANG) <= 0)
				continue;
			gone[i] = true;
			left--;
			if (bench_ended_well(status))
				continue;
			kill_all(pids, gone, n);
			bench_die("%s: a process failed (wait status 0x%x)",
			    what, (unsigned int)status);
		}
		if (left > 0 && bench_clock_ns() > end) {
			kill_all(pids, gone, n);
			bench_die("%s: %zu of %zu processes do not end", what,
			    left, n);
		}
		if (left > 0)
			bench_sleep_us(500);
	}
}

/* Those that go on until they are killed. */
void bench_kill(const int *pids, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		kill(pids[i], SIGKILL);
	for (i = 0; i < n; i++)
		waitpid(pids[i], NULL, 0);
}
