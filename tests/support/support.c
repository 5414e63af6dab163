/* SPDX-License-Identifier: MIT */
/* Time, names and short forms: see support.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "part.h"
#include "support.h"
#include "live_files.h"
#include "tap.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BUILD_SLOW 3
#else
#define BUILD_SLOW 1
#endif

#define WATCHDOG_S	60
#define NAP_NS		200000
#define LONGEST_NAP_NS	2000000
#define MAX_TABLES	256
#define MAX_PATHS	(2 * MAX_TABLES)

static char names[MAX_TABLES][64];
static pid_t owner;

/*
 * LeakSanitizer asks this at exit.  A child that exits without cleaning up
 * does so because that is what is being tested.
 */
int __lsan_is_turned_off(void) __attribute__((visibility("default")));
int
__lsan_is_turned_off(void)
{
	return owner != 0 && getpid() != owner;
}

/*
 * ASan takes SIGBUS at start, as an application may: these tests are of what
 * the library does with it.  And gcc 12's does not see that cancellation leaves
 * a thread's frames behind: it reports its own clean-up of the thread's signal
 * stack, which writes there.
 */
const char *__asan_default_options(void)
    __attribute__((visibility("default")));
const char *
__asan_default_options(void)
{
	return "handle_sigbus=0:use_sigaltstack=0";
}

/* Files to be removed; shared with the janitor. */
static struct objects {
	_Atomic int n;
	char path[MAX_PATHS][128];
} *objects;

static int64_t
slow(void)
{
	static int64_t factor;
	const char *s;

	if (factor == 0) {
		s = getenv("LH_TEST_SLOW");
		factor = s != NULL && atoi(s) > 0 ? atoi(s) : BUILD_SLOW;
	}
	return factor;
}

int64_t
t_ms(int64_t ms)
{
	return ms * slow();
}

int64_t
t_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t
t_ticked_ns(void)
{
	struct timespec ts;
	int64_t now = t_now_ns(), tick;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	tick = (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec + 4 * T_NS_PER_MS;
	return tick < now ? tick : now;
}

int64_t
t_since_ms(int64_t then_ns)
{
	return (t_now_ns() - then_ns) / T_NS_PER_MS;
}

int64_t
t_awake_ms(pid_t pid)
{
	uint64_t ran_ns = 0, waited_ns = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	f = fopen(path, "re");
	if (f == NULL || fscanf(f, "%" SCNu64 " %" SCNu64, &ran_ns,
	    &waited_ns) != 2)
		diag("%s cannot be read", path);
	if (f != NULL)
		fclose(f);
	return (int64_t)(ran_ns + waited_ns) / T_NS_PER_MS;
}

void
t_sleep_until(int64_t ns)
{
	struct timespec ts = { .tv_sec = ns / 1000000000,
	    .tv_nsec = ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) ==
	    EINTR)
		continue;
}

void
t_sleep_ms(int64_t ms)
{
	t_sleep_until(t_now_ns() + ms * T_NS_PER_MS);
}

void
t_nap(void)
{
	struct timespec ts = { .tv_nsec = NAP_NS };

	nanosleep(&ts, NULL);
}

void
t_nap_since(int64_t then_ns)
{
	int64_t ns = (t_now_ns() - then_ns) / 16;
	struct timespec ts = { .tv_nsec = ns < NAP_NS ? NAP_NS :
	    ns > LONGEST_NAP_NS ? LONGEST_NAP_NS : ns };

	nanosleep(&ts, NULL);
}

bool
t_tries(int tries, bool (*fn)(void *arg), void *arg)
{
	for (int i = 1; i <= tries; i++) {
		if (fn(arg))
			return true;
		diag("try %d of %d did not hold", i, tries);
	}
	return false;
}

static void
remove_objects(void)
{
	for (int i = 0; i < objects->n; i++) {
		unlink(objects->path[i]);
		remove_live_files(objects->path[i]);
	}
}

/* At exit; a child that calls exit() leaves its parent's tables alone. */
static void
at_exit(void)
{
	if (getpid() == owner)
		remove_objects();
}

/*
 * The janitor: a process that removes everything when the test and all its
 * children are gone, however they went: it waits for the end of a pipe that
 * they have open.  It holds nothing else open, so that nobody waits for it.
 */
static void
start_janitor(void)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGALRM };
	int ends[2];
	pid_t pid;
	char byte;

	if (pipe2(ends, O_CLOEXEC) != 0)
		bail_out("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		bail_out("fork: %s", strerror(errno));
	if (pid > 0) {
		close(ends[0]);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			continue;
		return;
	}
	/* twice, so that it is nobody's child to wait for */
	if (fork() != 0)
		_exit(0);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	dup2(ends[0], 0);
	closefrom(1);
	while (read(0, &byte, 1) < 0 && errno == EINTR)
		continue;
	remove_objects();
	_exit(0);
}

static void
begin(void)
{
	owner = getpid();
	objects = mmap(NULL, sizeof(*objects), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (objects == MAP_FAILED)
		bail_out("no shared memory: %s", strerror(errno));
	start_janitor();
	atexit(at_exit);
	t_watch();
}

void
t_watch(void)
{
	alarm((unsigned)(WATCHDOG_S * slow() * t_stretch()));
}

void
t_remove_at_exit(const char *path)
{
	int n;

	if (owner == 0)
		begin();
	n = objects->n;
	if (n == MAX_PATHS)
		bail_out("more than %d things to remove", MAX_PATHS);
	snprintf(objects->path[n], sizeof(objects->path[n]), "%s", path);
	objects->n = n + 1;
}

const char *
t_table(void)
{
	static int made;
	int n = made++ % MAX_TABLES;
	char floor[128];

	snprintf(names[n], sizeof(names[n]), "test.%d.%d", (int)getpid(), n);
	t_remove_at_exit(t_object(names[n]));
	snprintf(floor, sizeof(floor), "/dev/shm/leasehold.%u/%s.floor",
	    (unsigned)geteuid(), names[n]);
	t_remove_at_exit(floor);
	return names[n];
}

void
t_fill_up(const char *path)
{
	static char page[4096];
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);

	memset(page, 1, sizeof(page));
	while (write(fd, page, sizeof(page)) > 0)
		continue;
	is(errno, ENOSPC, "the file system is full");
	(void)close(fd);
}

int
t_count(int n, int min)
{
	int less = n / (int)slow();

	return less > min ? less : min;
}

const char *
t_object(const char *table)
{
	static __thread char path[192];

	snprintf(path, sizeof(path), "/dev/shm/leasehold.%u/%s.table",
	    (unsigned)geteuid(), table);
	return path;
}

struct lh_open_opts
t_open_opts(void)
{
	struct lh_open_opts o = LH_OPEN_OPTS_INIT;

	o.max_keys = 1024;
	o.max_sessions = 256;
	o.max_leases = 16384;
	return o;
}

struct lh *
t_open(const char *table)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh = NULL;
	int r = lh_open(&lh, table, &o);

	if (r != 0)
		bail_out("lh_open(%s): %s: %s", table, lh_strerror(r),
		    lh_error_detail());
	return lh;
}

struct lh_acquire_opts
t_opts(int64_t ttl_ms, int64_t wait_ms)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;

	o.ttl_ms = ttl_ms;
	o.max_wait_ms = wait_ms;
	return o;
}

int
t_acquire(struct lh *lh, const char *key, int64_t ttl_ms, int64_t wait_ms,
    struct lh_lease *lease)
{
	struct lh_acquire_opts o = t_opts(ttl_ms, wait_ms);

	return lh_acquire(lh, key, &o, lease);
}

int64_t
t_acquired_ns(struct lh *lh, const struct lh_lease *lease)
{
	struct lh_lease_info info = LH_LEASE_INFO_INIT;

	is(lh_lease_info(lh, lease, &info), 0, "what is known of the lease");
	return info.acquired_ns;
}

struct lh_lease
t_hold(struct lh *lh, const char *key)
{
	struct lh_lease lease;
	int r = t_acquire(lh, key, 3600000, 0, &lease);

	if (r != 0)
		bail_out("cannot take key '%s': %s: %s", key, lh_strerror(r),
		    lh_error_detail());
	return lease;
}

static int
n_holders(const struct lh_key_info *info, void *arg)
{
	*(int *)arg = (int)info->n_holders;
	return 0;
}

static int
n_waiters(const struct lh_key_info *info, void *arg)
{
	*(int *)arg = (int)info->n_waiters;
	return 0;
}

int
t_holders(struct lh *lh, const char *key)
{
	int n = 0, r = lh_status(lh, key, NULL, n_holders, &n);

	return r != 0 ? r : n;
}

int
t_waiters(struct lh *lh, const char *key)
{
	int n = 0, r = lh_status(lh, key, NULL, n_waiters, &n);

	return r != 0 ? r : n;
}

bool
t_await_waiters(struct lh *lh, const char *key, int n)
{
	if (t_until(T_HANG_MS, t_waiters(lh, key) == n))
		return true;
	diag("key '%s' has %d waiters, not %d", key, t_waiters(lh, key), n);
	return false;
}

static void
tell(const char *finding, void *arg)
{
	(void)arg;
	diag("check: %s", finding);
}

int
t_findings(struct lh *lh)
{
	int n = 0;

	for (int i = 0; i < 3; i++) {
		n = lh_check(lh, NULL, NULL);
		if (n == 0)
			return 0;
		t_sleep_ms(5);
	}
	return lh_check(lh, tell, NULL);
}

void
t_close(struct lh *lh)
{
	is(t_findings(lh), 0, "at the end the table is sound");
	is(lh_close(lh), 0, "and closes");
}

bool
t_has_detail(void)
{
	const char *s = lh_error_detail();

	if (s != NULL && strlen(s) >= 12 && strchr(s, ' ') != NULL)
		return true;
	diag("detail is \"%s\"", s != NULL ? s : "(null)");
	return false;
}

static int
entries(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	if (d == NULL)
		return -1;
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

int
t_descriptors(void)
{
	return entries("/proc/self/fd");
}

int
t_threads(void)
{
	return entries("/proc/self/task") - 2;	/* . and .. */
}
