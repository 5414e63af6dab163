/* SPDX-License-Identifier: MIT */
/*
 * Locks a file as flock(1) does, so that jobs that still use flock(1) and jobs
 * that use leasehold exclude each other.
 *
 * The wait is in the kernel, where flock's waiters have their order.  A timer's
 * signal ends it; the timer repeats, because the first signal may come right
 * before the call.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/time.h>
#include <time.h>
#include <leasehold.h>
#include "file_lock.h"

#define AGAIN_US 10000		/* the timer repeats */

static int64_t
now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void
note_alarm(int number)
{
	(void)number;
}

static int
wait_for_lock(int fd, int how, int64_t wait_ms)
{
	const struct sigaction sa = { .sa_handler = note_alarm };
	struct itimerval timer = { .it_interval = { 0, AGAIN_US },
	    .it_value = { wait_ms / 1000, wait_ms % 1000 * 1000 } };
	const struct itimerval off = { { 0, 0 }, { 0, 0 } };
	int64_t end = now_ms() + wait_ms;
	struct sigaction old;
	sigset_t alarm, mask;
	int error;

	(void)sigemptyset(&alarm);
	(void)sigaddset(&alarm, SIGALRM);
	(void)sigaction(SIGALRM, &sa, &old);
	(void)sigprocmask(SIG_UNBLOCK, &alarm, &mask);
	(void)setitimer(ITIMER_REAL, &timer, NULL);
	do
		error = flock(fd, how) == 0 ? 0 : -errno;
	while (error == -EINTR && now_ms() < end);
	(void)setitimer(ITIMER_REAL, &off, NULL);
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
	(void)sigaction(SIGALRM, &old, NULL);
	return error == -EINTR ? -ETIMEDOUT : error;
}

int
file_lock(int fd, int how, int64_t *wait_ms)
{
	int64_t began = now_ms(), spent;
	int error;

	do
		error = flock(fd, how | LOCK_NB) == 0 ? 0 : -errno;
	while (error == -EINTR);
	if (error != -EWOULDBLOCK || *wait_ms == 0)
		return error;
	if (*wait_ms == LH_WAIT_FOREVER) {
		do
			error = flock(fd, how) == 0 ? 0 : -errno;
		while (error == -EINTR);
		return error;
	}
	error = wait_for_lock(fd, how, *wait_ms);
	spent = now_ms() - began;
	*wait_ms = spent < *wait_ms ? *wait_ms - spent : 0;
	return error;
}

int
file_lock_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CREAT | O_NOCTTY | O_CLOEXEC, 0666);

	if (fd < 0 && errno == EISDIR)
		fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
