/* SPDX-License-Identifier: MIT */
/* Other processes: see child.h. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "child.h"
#include "part.h"
#include "support.h"
#include "tap.h"

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#ifndef VALGRIND_CLO_CHANGE
#define VALGRIND_CLO_CHANGE(option) ((void)0)
#endif

/* Enough for the library and printf, small enough for a thousand. */
#define STACK_LEN	(256 * 1024)

void __gcov_dump(void) __attribute__((weak));

void
t_post(struct t_event *ev)
{
	atomic_fetch_add(&ev->count, 1);
	syscall(SYS_futex, &ev->count, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool
t_await(struct t_event *ev, uint32_t count, int64_t ms)
{
	int64_t end_ns = t_now_ns() + ms * T_NS_PER_MS, left_ns;

	for (;;) {
		uint32_t seen = atomic_load(&ev->count);
		struct timespec ts;

		if (seen >= count)
			return true;
		left_ns = end_ns - t_now_ns();
		if (left_ns <= 0)
			return false;
		ts.tv_sec = left_ns / 1000000000;
		ts.tv_nsec = left_ns % 1000000000;
		syscall(SYS_futex, &ev->count, FUTEX_WAIT, seen, &ts, NULL, 0);
	}
}

void *
t_shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		bail_out("no shared memory: %s", strerror(errno));
	return p;
}

void
t_child_begin(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* what it inherits in wiped pages (MADV_WIPEONFORK) would be leaks */
	VALGRIND_CLO_CHANGE("--leak-check=no");
}

void
t_child_exit(int status)
{
	if (__gcov_dump != NULL)
		__gcov_dump();
	_exit(status);
}

pid_t
t_fork(int (*fn)(void *arg), void *arg)
{
	pid_t parent = getpid(), pid = fork();
	int status;

	if (pid < 0)
		bail_out("fork: %s", strerror(errno));
	if (pid > 0) {
		t_part_joined(pid);
		return pid;
	}
	t_child_begin();
	if (getppid() != parent)
		_exit(1);
	status = fn(arg);
	t_child_exit(status != 0 ? status : tap_child_status());
}

int
t_reap(pid_t pid, int64_t ms)
{
	int64_t begin_ns = t_now_ns(), end_ns = begin_ns + ms * T_NS_PER_MS;
	bool late = false;
	int st;

	for (;;) {
		pid_t got = waitpid(pid, &st, late ? 0 : WNOHANG);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == pid)
			break;
		if (t_now_ns() >= end_ns) {
			late = true;
			kill(pid, SIGKILL);
		}
		t_nap_since(begin_ns);
	}
	if (late)
		return -ETIMEDOUT;
	return WIFEXITED(st) ? WEXITSTATUS(st) : 256 + WTERMSIG(st);
}

int
t_signal(pid_t pid, int sig)
{
	if (pid <= 1)
		bail_out("signal %d would go to process %d", sig, (int)pid);
	return kill(pid, sig);
}

void
t_kill(pid_t pid)
{
	int st;

	(void)t_signal(pid, SIGKILL);
	while (waitpid(pid, &st, 0) < 0 && errno == EINTR)
		continue;
}

void
t_stop(pid_t pid)
{
	int st;

	(void)t_signal(pid, SIGSTOP);
	while (waitpid(pid, &st, WUNTRACED) < 0 && errno == EINTR)
		continue;
	if (!WIFSTOPPED(st))
		bail_out("process %d ended instead of stopping", (int)pid);
}

void
t_cont(pid_t pid)
{
	(void)t_signal(pid, SIGCONT);
}

bool
t_mount(const char *where, const char *options)
{
	return unshare(CLONE_NEWNS) == 0 &&
	    mount("none", "/", "none", MS_REC | MS_PRIVATE, "") == 0 &&
	    mount("tmpfs", where, "tmpfs", 0, options) == 0;
}

void
t_small_world(int (*fn)(void *arg), void *arg, int64_t ms)
{
	int r;

	if (geteuid() != 0)
		skip_all("only root mounts a tmpfs");
	r = t_reap(t_fork(fn, arg), ms);
	if (r == T_NO_MOUNT)
		skip_all("cannot mount a tmpfs here");
	is(r, 0, "in a tmpfs of its own a process saw what it should");
}

unsigned long
t_thread(t_thread_fn *fn, void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_LEN);
	r = pthread_create(&thread, &attr, fn, arg);
	pthread_attr_destroy(&attr);
	if (r != 0)
		bail_out("pthread_create: %s", strerror(r));
	return thread;
}

void *
t_join(unsigned long thread)
{
	void *result;

	pthread_join(thread, &result);
	return result;
}

void
t_aside(t_thread_fn *fn)
{
	(void)t_join(t_thread(fn, NULL));
}

bool
t_set_next_pid(pid_t pid)
{
	FILE *f = fopen("/proc/sys/kernel/ns_last_pid", "w");
	bool done;

	if (f == NULL)
		return false;
	done = fprintf(f, "%d", (int)pid - 1) > 0;
	return fclose(f) == 0 && done;
}
