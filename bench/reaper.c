/* SPDX-License-Identifier: MIT */
/*
 * Measures the cost of running a reaper.
 *
 * The daemon, as it is installed, serves one large table: 10^6 idle keys, 4,096
 * sessions, and 10^5 live leases, which are extended every third of their 30 s
 * for the whole run.  The sessions are attachments of 16 processes.
 *
 *	reaper_cpu	processor time of the daemon in a second, once it has
 *			seen everything; beside 1 % of a second
 *	reaper_rss	its memory that is nobody else's (RssAnon): the mapping
 *			is shared with those who use the table; beside 4 MB
 *	x_reaped	acquire + release by handle, in a session of its own in
 *			that table, while the daemon runs; beside the same while
 *			it is stopped
 *
 * The daemon is $LEASEHOLD_REAPERD, or else lies where make leaves it.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <leasehold.h>

#include "bench.h"

#define N_KEYS		1000000u
#define N_PROCESSES	16u
#define N_SESSIONS	4095u	/* and one to watch them */
#define N_EACH		((N_SESSIONS + N_PROCESSES - 1) / N_PROCESSES)
#define LEASES		25u	/* a session */
#define TTL_MS		30000u
#define TURN_MS		10u	/* a share of the leases is extended */
#define PATIENCE_NS	UINT64_C(180000000000)
#define FDS		6000u

enum { CPU, RSS, REAPED, N_ROWS };

static struct stage {
	_Atomic uint32_t ready;
	_Atomic bool over;
} *stage;

static char table[sizeof(bench.table) + 8];
static struct lh_key *hot;
static struct lh *lh;
static pid_t daemon_pid;

static struct lh_open_opts sizes(void)
{
	struct lh_open_opts o = LH_OPEN_OPTS_INIT;

	o.max_keys = N_KEYS + N_SESSIONS * LEASES + 1000;
	o.max_sessions = 4096;
	o.max_leases = 4200 * 64;
	return o;
}

/* One process with its share of the sessions; never returns. */
static void live(unsigned int which)
{
	static struct lh_lease lease[N_EACH][LEASES];
	static struct lh *mine[N_EACH];
	const unsigned int turns = TTL_MS / 3 / TURN_MS;
	struct lh_acquire_opts acquire = LH_ACQUIRE_OPTS_INIT;
	unsigned int n = 0, turn, i, k;
	char name[32];

	acquire.ttl_ms = TTL_MS;
	for (i = which; i < N_SESSIONS; i += N_PROCESSES, n++) {
		bench_need(lh_open(&mine[n], table, NULL), "lh_open");
		for (k = 0; k < LEASES; k++) {
			bench_key_name(name, N_KEYS + i * LEASES + k);
			bench_need(lh_acquire(mine[n], name, &acquire,
			    &lease[n][k]), "acquire");
		}
	}
	atomic_fetch_add(&stage->ready, 1);
	for (turn = 0; !atomic_load(&stage->over); turn++) {
		for (i = turn % turns; i < n * LEASES; i += turns)
			bench_need(lh_extend(mine[i / LEASES],
			    &lease[i / LEASES][i % LEASES], TTL_MS), "extend");
		bench_sleep_us(TURN_MS * 1000);
	}
	_exit(0);
}

static void start_daemon(void)
{
	char path[256] = "";
	const char *named = getenv("LEASEHOLD_REAPERD");
	const struct rlimit fds = { FDS, FDS };
	ssize_t n;

	if (named) {
		snprintf(path, sizeof(path), "%s", named);
	} else {
		n = readlink("/proc/self/exe", path, sizeof(path) - 32);
		if (n > 0 && strrchr(path, '/'))
			strcpy(strrchr(path, '/'), "/../leasehold-reaperd");
	}
	daemon_pid = bench_fork();
	if (daemon_pid == 0) {
		(void)setrlimit(RLIMIT_NOFILE, &fds);
		/* beside one that may run here, and as it comes */
		(void)setenv("XDG_RUNTIME_DIR", bench.scratch, 1);
		(void)unsetenv("RUNTIME_DIRECTORY");
		execl(path, path, "-f", "-c", "/dev/null", "-t", table,
		    (char *)NULL);
		_exit(127);
	}
}

static double cpu_ns(void)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(daemon_pid, &clock) != 0 ||
	    clock_gettime(clock, &ts) != 0)
		bench_die("the daemon's processor time cannot be read");
	return 1e9 * (double)ts.tv_sec + (double)ts.tv_nsec;
}

/* In bytes, from a line of /proc/PID/status; 0: no such line. */
static double memory(const char *what)
{
	char path[64], line[256];
	double bytes = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)daemon_pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, what, strlen(what)) == 0)
			bytes = 1024 * strtod(line + strlen(what), NULL);
	if (file)
		fclose(file);
	return bytes;
}

static void measure_daemon(struct row *rows)
{
	const unsigned int seconds = bench.quick ? 3 : TTL_MS / 1000;
	unsigned int i;
	double began;

	bench_sleep_us(bench.quick ? 2000000 : 6000000);
	rows[CPU].ours.min_ns = 1e9;
	began = cpu_ns();
	for (i = 0; i < seconds; i++) {
		double before = cpu_ns(), took;

		bench_sleep_us(1000000);
		took = cpu_ns() - before;
		if (took < rows[CPU].ours.min_ns)
			rows[CPU].ours.min_ns = took;
	}
	rows[CPU].ours.mid_ns = (cpu_ns() - began) / seconds;
	rows[CPU].theirs = (struct figures){ 1e7, 1e7 };
	rows[RSS].ours.mid_ns = rows[RSS].ours.min_ns = memory("RssAnon:");
	rows[RSS].theirs = (struct figures){ 4 << 20, 4 << 20 };
	bench_report_note("the reaper beside 10^6 keys, 4,096 sessions, 10^5 "
	    "leases: RssAnon %.0f kB, RssFile %.0f kB, of the table %.1f MB",
	    memory("RssAnon:") / 1024, memory("RssFile:") / 1024,
	    memory("RssShmem:") / (1 << 20));
}

static void pairs(uint64_t n)
{
	struct lh_lease lease;

	for (; n > 0; n--) {
		bench_need(lh_key_acquire(hot, NULL, &lease), "acquire");
		bench_need(lh_release(lh, &lease), "release");
	}
}

static void with_run(uint64_t n)
{
	kill(daemon_pid, SIGCONT);
	pairs(n);
}

static void without_run(uint64_t n)
{
	kill(daemon_pid, SIGSTOP);
	pairs(n);
}

static void measure_pair(struct row *row)
{
	static struct side sides[] = {
		{ .name = "x_reaped", .run = with_run, .wanted = true },
		{ .name = "no-reaper", .run = without_run, .wanted = true },
	};

	bench_pin();
	bench_need(lh_key_open(lh, HOT_KEY, 0, &hot), "key_open");
	bench_circus(sides, 2, bench.quick ? 61 : 151, 8000000);
	row->ours = sides[0].figures;
	row->theirs = sides[1].figures;
	bench_unpin();
}

/* All of them live, and the daemon as well: NULL, or why not. */
static const char *set_up(int *pids)
{
	uint64_t end = bench_clock_ns() + PATIENCE_NS;
	struct lh_open_opts o = sizes();
	char name[32];
	unsigned int i;
	int status;

	start_daemon();
	bench_sleep_us(200000);
	if (waitpid(daemon_pid, &status, WNOHANG) != 0)
		return "there is no leasehold-reaperd that runs: make reaperd";
	bench_need(lh_open(&lh, table, &o), "lh_open");
	for (i = 0; i < N_KEYS; i++) {
		bench_key_name(name, i);
		bench_need(lh_key_create(lh, name), "key_create");
	}
	stage = bench_shared(sizeof(*stage));
	for (i = 0; i < N_PROCESSES; i++) {
		pids[i] = bench_fork();
		if (pids[i] == 0)
			live(i);
	}
	while (atomic_load(&stage->ready) < N_PROCESSES) {
		if (bench_clock_ns() > end)
			bench_die("reaper: the sessions do not get ready");
		bench_sleep_us(1000);
	}
	return NULL;
}

size_t bench_reaper(struct row **out)
{
	static struct row rows[N_ROWS] = {
		[CPU] = { "reaper_cpu", "1%-of-a-cpu", "the daemon in a "
		    "second: 10^6 keys, 4,096 sessions, 10^5 leases",
		    ROW_METRIC, 1.0, { 0, 0 }, { 0, 0 }, NULL },
		[RSS] = { "reaper_rss", "4-MB", "its own memory meanwhile, "
		    "beside the mapping", ROW_BYTES, 1.0, { 0, 0 }, { 0, 0 },
		    NULL },
		[REAPED] = { "x_reaped", "no-reaper", "acquire + release by "
		    "handle in that table, the daemon running; stopped",
		    ROW_METRIC, 1.02, { 0, 0 }, { 0, 0 }, NULL },
	};
	int pids[N_PROCESSES], status;
	const char *missing;
	unsigned int i;

	snprintf(table, sizeof(table), "%s.reap", bench.table);
	missing = set_up(pids);
	for (i = 0; i < N_ROWS; i++)
		rows[i].missing = missing;
	if (!missing) {
		measure_daemon(rows);
		measure_pair(&rows[REAPED]);
		atomic_store(&stage->over, true);
		bench_reap(pids, N_PROCESSES, 10000, "reaper");
		kill(daemon_pid, SIGKILL);
		waitpid(daemon_pid, &status, 0);
		bench_need(lh_close(lh), "lh_close");
	}
	*out = rows;
	return N_ROWS;
}
