/* SPDX-License-Identifier: MIT */
/*
 * Which processes does the benchmark consist of, and who cleans up?
 *
 *	supervisor	waits, then removes the table's object and the scratch
 *	  body		measures; may crash with the library under test
 *	    workers	forked by body, one crowd or holder at a time
 *
 * Every process is killed by the kernel when its parent dies
 * (PR_SET_PDEATHSIG), so the supervisor's death is everyone's, and after the
 * body's death nobody uses what the supervisor removes.  Only a SIGKILL of the
 * supervisor itself leaves the table and the directory behind.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <leasehold.h>

#include "bench.h"

#define COULD_NOT_MEASURE 2

static volatile sig_atomic_t body_pid;

/* Says why and ends this process; whoever waits for it passes that on. */
void bench_die(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "bench: ");
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(COULD_NOT_MEASURE);
}

/* A negative error is from a call of ours, which has a sentence to say. */
void bench_fail(int error, const char *what)
{
	if (error < 0)
		bench_die("%s: %s. %s", what, lh_strerror(error),
		    lh_error_detail());
	bench_die("%s: %s", what, strerror(error));
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
 * Wait for workers that have been told to end.  One that fails has said why
 * already; one that does not end is killed, and that is a finding.
 */
void bench_reap(const int *pids, size_t n, unsigned int patience_ms,
    const char *what)
{
	uint64_t end = bench_clock_ns() + patience_ms * UINT64_C(1000000);
	bool gone[64] = { false };
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

static void empty_scratch(void)
{
	char path[sizeof(bench.scratch) + 1 + sizeof(((struct dirent *)0)
	    ->d_name)];
	struct dirent *entry;
	DIR *dir;

	dir = opendir(bench.scratch);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", bench.scratch,
		    entry->d_name);
		if (entry->d_name[0] != '.' && unlink(path) < 0)
			fprintf(stderr, "bench: %s: %s\n", path,
			    strerror(errno));
	}
	closedir(dir);
	if (rmdir(bench.scratch) < 0)
		fprintf(stderr, "bench: %s: %s\n", bench.scratch,
		    strerror(errno));
}

static void remove_table(void)
{
	char path[128];

	snprintf(path, sizeof(path), "/dev/shm/leasehold.%u.%s",
	    (unsigned int)getuid(), bench.table);
	unlink(path);
}

static void on_signal(int number)
{
	(void)number;
	if (body_pid > 0)
		kill(body_pid, SIGKILL);
}

/*
 * Run body in a child and clean up behind it.  The exit status is body's.
 * Between fork and the store of body_pid a signal is held back by the mask.
 */
int bench_supervise(int (*body)(void))
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t ours, before;
	int status;
	int pid;

	snprintf(bench.table, sizeof(bench.table), "bench.%d", (int)getpid());
	snprintf(bench.scratch, sizeof(bench.scratch),
	    "/dev/shm/leasehold-bench.XXXXXX");
	if (!mkdtemp(bench.scratch)) {
		fprintf(stderr, "bench: %s: %s\n", bench.scratch,
		    strerror(errno));
		return COULD_NOT_MEASURE;
	}
	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigprocmask(SIG_BLOCK, &ours, &before);
	pid = bench_fork();
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		status = body();
		fflush(stdout);
		_exit(status);
	}
	body_pid = pid;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	empty_scratch();
	remove_table();
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	fprintf(stderr, "bench: measuring was ended by signal %d\n",
	    WTERMSIG(status));
	return COULD_NOT_MEASURE;
}
