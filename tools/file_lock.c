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
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
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

/* True if the lock on the file is exclusive, and of this open file. */
static bool
is_writer(int fd)
{
	char path[40], line[160];
	bool found = false;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), f) != NULL)
		found = strncmp(line, "lock:", 5) == 0 &&
		    strstr(line, " FLOCK ") != NULL &&
		    strstr(line, " WRITE ") != NULL;
	(void)fclose(f);
	return found;
}

/*
 * Asked through an open file of its own, which has no lock that an attempt
 * could end.  (To open a device may do something to it.)
 */
bool
file_lock_is_gone(int fd, bool shared)
{
	char path[40];
	struct stat st;
	bool gone;
	int own;

	if (is_writer(fd))
		return true;
	if (fstat(fd, &st) != 0 ||
	    !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return false;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own < 0)
		return false;
	gone = flock(own, (shared ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0;
	(void)close(own);
	return gone;
}

int
file_lock_open(const char *path)
{
	const int flags = O_RDONLY | O_NOCTTY | O_CLOEXEC;
	int fd = open(path, flags | O_CREAT | O_NONBLOCK, 0666);

	if (fd < 0 && errno == EISDIR)
		fd = open(path, flags);
	else if (fd < 0 && errno == EWOULDBLOCK)
		/* a file server's lease on the file, which is given up soon */
		fd = open(path, flags);
	else if (fd >= 0)
		(void)fcntl(fd, F_SETFL, O_RDONLY);
	return fd < 0 ? -errno : fd;
}
