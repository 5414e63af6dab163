/* SPDX-License-Identifier: MIT */
/* Trials: see trial.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "crash/trial.h"
#include "live_files.h"
#include "tap.h"

#define COMPANY 16
#define MY_SCHEDSTAT "/proc/thread-self/schedstat"

static volatile pid_t company[COMPANY];	/* read by the alarm's handler */
static volatile sig_atomic_t overdue;
static char object[160], fence[176];
static char floors[2]
		  [160]; /* what a removed table leaves (shm/table_remove.c) */
static pid_t director;

/*
 * The time that is left: trial_watch_used().  `on` is off before the alarm
 * is: one that comes just then kills nobody, and does not set itself again.
 */
static struct {
	volatile sig_atomic_t on;
	char schedstat[40];		/* the other's; "": all time counts */
	int64_t end_ns, delayed_ns;
} watched;

int64_t
trial_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/*
 * How long has a thread been ready to run, and did not?  0: not told.  (It is
 * the second number.  A signal's handler may ask.)
 */
static int64_t
delayed_ns(const char *schedstat)
{
	int64_t delayed = 0;
	char text[100], *c = text;
	ssize_t n;
	int fd = open(schedstat, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	while (*c >= '0' && *c <= '9')
		c++;
	while (*c == ' ')
		c++;
	for (; *c >= '0' && *c <= '9'; c++)
		delayed = 10 * delayed + (*c - '0');
	return delayed;
}

struct stretch
stretch_begin(void)
{
	struct stretch s = { .delayed_ns = delayed_ns(MY_SCHEDSTAT) };

	s.began_ns = trial_now_ns();
	return s;
}

int64_t
stretch_ms(struct stretch s)
{
	int64_t now = trial_now_ns();

	return (now - s.began_ns - (delayed_ns(MY_SCHEDSTAT) - s.delayed_ns)) /
	    NS_A_MS;
}

void
trial_nap_us(int64_t us)
{
	struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&ts, NULL);
}

void
flag_set(struct flag *f, uint32_t v)
{
	atomic_store(&f->v, v);
	syscall(SYS_futex, &f->v, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

uint32_t
flag_get(struct flag *f)
{
	return atomic_load(&f->v);
}

bool
flag_wait(struct flag *f, uint32_t at_least, int64_t ms)
{
	int64_t end = trial_now_ns() + ms * NS_A_MS;

	for (;;) {
		uint32_t v = atomic_load(&f->v);
		int64_t left = end - trial_now_ns();
		struct timespec ts;

		if (v >= at_least)
			return true;
		if (left <= 0)
			return false;
		ts.tv_sec = left / 1000000000;
		ts.tv_nsec = left % 1000000000;
		syscall(SYS_futex, &f->v, FUTEX_WAIT, v, &ts, NULL, 0);
	}
}

/* Files, in a directory of a directory. */
static void
wipe(int at, const char *name, int depth)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL)
		if (unlinkat(fd, e->d_name, 0) != 0 && e->d_name[0] != '.' &&
		    depth > 0)
			wipe(fd, e->d_name, depth - 1);
	if (d != NULL)
		closedir(d);
	(void)unlinkat(at, name, AT_REMOVEDIR);
}

void
trial_remove_object(void)
{
	unlink(object);
	remove_live_files(object);
	unlink(floors[0]);
	unlink(floors[1]);
	wipe(AT_FDCWD, fence, 1);
}

const char *
trial_object(const struct trial *p)
{
	unsigned uid = (unsigned)geteuid();

	if (object[0] == '\0') {
		snprintf(object, sizeof(object),
		    "/dev/shm/leasehold.%u/%s.table", uid, p->table);
		snprintf(floors[0], sizeof(floors[0]),
		    "/dev/shm/leasehold.%u/%s.floor", uid, p->table);
		snprintf(floors[1], sizeof(floors[1]),
		    "/dev/shm/leasehold.%u/%s.floor~", uid, p->table);
		snprintf(fence, sizeof(fence), "%s.state", object);
	}
	return object;
}

const char *
trial_fence(const struct trial *p)
{
	(void)trial_object(p);
	return fence;
}

static void
kill_company(void)
{
	for (int i = 0; i < COMPANY; i++)
		if (company[i] > 0)
			kill(company[i], SIGKILL);
}

static void
set_alarm(int64_t ns)
{
	struct itimerval it = { { ns > 0, 0 },
	    { ns / 1000000000, ns % 1000000000 / 1000 } };

	setitimer(ITIMER_REAL, &it, NULL);
}

static int64_t
delayed_both_ns(void)
{
	return delayed_ns(MY_SCHEDSTAT) + delayed_ns(watched.schedstat);
}

static void
on_alarm(int sig)
{
	int64_t left = 0;
	int saved = errno;

	(void)sig;
	if (!watched.on)
		return;
	if (watched.schedstat[0] != '\0')
		left = watched.end_ns - trial_now_ns() + delayed_both_ns() -
		    watched.delayed_ns;
	if (left >= NS_A_MS) {
		set_alarm(left);
	} else {
		overdue = 1;
		kill_company();
	}
	errno = saved;
}

static void
on_end(int sig)
{
	if (getpid() == director) {
		kill_company();
		trial_remove_object();
	}
	signal(sig, SIG_DFL);
	raise(sig);
}

static void
at_end(void)
{
	if (getpid() == director) {
		kill_company();
		trial_remove_object();
	}
}

struct trial *
trial_make(void)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGSEGV,
	    SIGABRT };
	void *volatile first;
	struct trial *p;

	p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		bail_out("no shared memory: %s", strerror(errno));
	/* the heap exists: the first child finds what all others find */
	first = malloc(1);
	free(first);
	director = getpid();
	snprintf(p->table, sizeof(p->table), "step-%d", (int)director);
	(void)trial_object(p);
	sigaction(SIGALRM, &sa, NULL);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		signal(ends[i], on_end);
	atexit(at_end);
	return p;
}

void
trial_clear(struct trial *p)
{
	char table[sizeof(p->table)];
	bool full = p->full;

	memcpy(table, p->table, sizeof(table));
	memset(p, 0, sizeof(*p));
	p->full = full;
	memcpy(p->table, table, sizeof(table));
}

static void
vblame(struct trial *p, const char *fmt, va_list ap)
{
	if (atomic_exchange(&p->blamed, 1) == 0)
		vsnprintf(p->finding, sizeof(p->finding), fmt, ap);
}

void
blame(struct trial *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vblame(p, fmt, ap);
	va_end(ap);
}

void
blame_block(struct trial *p, const char *fmt, ...)
{
	va_list ap;

	atomic_store(&p->blocked, 1);
	va_start(ap, fmt);
	vblame(p, fmt, ap);
	va_end(ap);
}

void
trial_saw_token(struct trial *p, uint64_t token)
{
	uint64_t max = atomic_load(&p->max_token);

	while (token > max &&
	    !atomic_compare_exchange_weak(&p->max_token, &max, token))
		;
}

static void
company_swap(pid_t from, pid_t to)
{
	for (int i = 0; i < COMPANY; i++) {
		if (company[i] == from) {
			company[i] = to;
			return;
		}
	}
	if (from == 0)
		bail_out("more than %d processes on stage", COMPANY);
}

void
trial_gone(pid_t pid)
{
	company_swap(pid, 0);
}

pid_t
trial_fork(struct trial *p, void (*fn)(struct trial *p, void *arg), void *arg)
{
	pid_t pid = fork();

	if (pid < 0)
		bail_out("fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != director)
			_exit(1);
		fn(p, arg);
		_exit(0);
	}
	company_swap(0, pid);
	return pid;
}

int
trial_waitpid(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, __WALL) < 0) {
		if (errno != EINTR)
			return 0;
	}
	if (!WIFSTOPPED(status))
		trial_gone(pid);
	return status;
}

int
trial_reap(pid_t pid)
{
	int status;

	do {
		status = trial_waitpid(pid);
	} while (WIFSTOPPED(status));
	return status;
}

void
trial_await(struct trial *p, pid_t pid, const char *who)
{
	int status = trial_reap(pid);

	if (status != 0 && !trial_overdue())
		blame(p, "the %s died: %s %d", who, WIFSIGNALED(status) ?
		    "signal" : "exit", WIFSIGNALED(status) ?
		    WTERMSIG(status) : WEXITSTATUS(status));
}

void
trial_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	(void)trial_reap(pid);
}

void
trial_sweep(struct trial *p)
{
	kill_company();
	for (int i = 0; i < COMPANY; i++)
		if (company[i] > 0)
			(void)trial_reap(company[i]);
	trial_remove_object();
}

bool
trial_watch(int64_t ms)
{
	bool was;

	watched.on = 0;
	set_alarm(0);
	was = overdue;
	watched.schedstat[0] = '\0';
	if (ms > 0) {
		overdue = 0;
		watched.on = 1;
		set_alarm(ms * NS_A_MS);
	}
	return was;
}

void
trial_watch_used(int64_t ms, pid_t pid)
{
	(void)trial_watch(0);
	overdue = 0;
	snprintf(watched.schedstat, sizeof(watched.schedstat),
	    "/proc/%d/schedstat", (int)pid);
	watched.end_ns = trial_now_ns() + ms * NS_A_MS;
	watched.delayed_ns = delayed_both_ns();
	watched.on = 1;
	set_alarm(ms * NS_A_MS);
}

bool
trial_overdue(void)
{
	return overdue;
}

bool
trial_asleep(pid_t pid)
{
	char path[64], text[256], *end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	end = strrchr(text, ')');
	return end != NULL && end[1] == ' ' && end[2] == 'S';
}
