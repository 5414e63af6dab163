/* SPDX-License-Identifier: MIT */
/*
 * The daemon's loop.  It sleeps until the first of these events:
 *
 * - a signal;
 * - a change in /dev/shm;
 * - a readable descriptor of a table (a process has died);
 * - a reader of the metrics;
 * - the next pass of a table; or
 * - half of the watchdog's time.
 *
 * It blocks nowhere else, and no input can make it spin.  Two passes over a
 * table are at least tick_min apart.  Two scans of the directory are at least
 * LOOK_NS apart, or twenty times the processor time of one scan.  A table's
 * descriptor is armed again after its pass.  Anybody may create files in
 * /dev/shm, so its events are read again only LOOK_NS after the last ones.
 *
 * Signals: TERM and INT end it, HUP reads the configuration again, USR1 logs
 * the state.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <bsd/unistd.h>
#include "daemon/daemon_log.h"
#include "daemon/notify.h"
#include "daemon/now.h"
#include "daemon/serve.h"
#include "reaper_loop.h"
#include "reaper_metrics.h"
#include "tables.h"
#include "table_pass.h"

#define LOOK_NS (50 * NS_PER_MS)	/* least time between two scans */
#define LOOK_PART 20	/* scans use at most 1/20 of a processor */
#define ROUND_NS (10 * NS_PER_SEC)	/* scan even without an event */
#define BLIND_NS NS_PER_SEC		/* scan interval without inotify */
#define EVENTS_MAX 32

enum kind { SIGNAL, DIRECTORY, TABLE, LISTENER, READER };

static int epoll_fd = -1, signal_fd = -1, notify_fd = -1;
static int tables_wd = -1;	/* watch of the tables' directory */
static bool ending;
static int64_t looked_ns, look_ns, watchdog_ns, feed_ns;
static int64_t rest_ns = LOOK_NS;	/* least time before the next scan */
static int64_t deaf_ns;		/* events of /dev/shm wait until then */
static unsigned told_tables = UINT_MAX;

static void
our_signals(sigset_t *set)
{
	(void)sigemptyset(set);
	(void)sigaddset(set, SIGTERM);
	(void)sigaddset(set, SIGINT);
	(void)sigaddset(set, SIGHUP);
	(void)sigaddset(set, SIGUSR1);
}

void
reaper_loop_block_signals(void)
{
	sigset_t set;

	our_signals(&set);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
}

/* Watches the tables' directory, if it exists; /dev/shm reports when it is
 * made.  Repeating this is harmless, because inotify keeps one watch for each
 * directory. */
static void
watch_tables_directory(void)
{
	char directory[64];

	tables_directory(directory, sizeof(directory));
	if (notify_fd >= 0)
		tables_wd = inotify_add_watch(notify_fd, directory, IN_CREATE |
		    IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_ONLYDIR);
}

static int
watch_fd(int fd, enum kind kind, int op)
{
	struct epoll_event ev = { .events = EPOLLIN,
	    .data.u64 = (uint64_t)kind << 32 };

	if (kind == DIRECTORY)
		ev.events |= EPOLLONESHOT;
	return epoll_ctl(epoll_fd, op, fd, &ev) == 0 ? 0 : -errno;
}

static int
set_up(void)
{
	sigset_t set;

	our_signals(&set);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (epoll_fd < 0 || signal_fd < 0)
		return -errno;
	notify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (notify_fd >= 0 && (inotify_add_watch(notify_fd, "/dev/shm",
	    IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM) < 0 ||
	    watch_fd(notify_fd, DIRECTORY, EPOLL_CTL_ADD) != 0)) {
		(void)close(notify_fd);
		notify_fd = -1;
	}
	if (notify_fd < 0)
		log_line(LOG_INFO, "cannot watch /dev/shm (%s); scanning it "
		    "once a second instead", strerror(errno));
	return watch_fd(signal_fd, SIGNAL, EPOLL_CTL_ADD);
}

/* Shows the number of tables in process title and status. */
static void
show_table_count(void)
{
	unsigned n = tables_count_served();

	if (n == told_tables)
		return;
	told_tables = n;
	setproctitle("%u table%s", n, n == 1 ? "" : "s");
	notify("STATUS=Serving %u table%s", n, n == 1 ? "" : "s");
}

static int64_t
cpu_ns(void)
{
	return lhi_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* Notes the end of a scan and sets the time of the next one.  cpu_then_ns:
 * processor time used before the scan. */
static void
note_scan_cost(int64_t cpu_then_ns)
{
	looked_ns = mono_ns();
	rest_ns = (cpu_ns() - cpu_then_ns) * LOOK_PART;
	if (rest_ns < LOOK_NS)
		rest_ns = LOOK_NS;
	look_ns = looked_ns + (notify_fd < 0 ? BLIND_NS : ROUND_NS);
	if (look_ns < looked_ns + rest_ns)
		look_ns = looked_ns + rest_ns;
}

static void
scan_soon(void)
{
	if (look_ns > looked_ns + rest_ns)
		look_ns = looked_ns + rest_ns;
}

static void
read_directory(void)
{
	char buf[4096] __attribute__((aligned(8)));
	bool ours = false;
	ssize_t len;

	while ((len = read(notify_fd, buf, sizeof(buf))) > 0) {
		const struct inotify_event *e;

		for (char *p = buf; p < buf + len; p += sizeof(*e) + e->len) {
			e = (const struct inotify_event *)p;
			ours |= (e->mask & IN_Q_OVERFLOW) || (e->len > 0 &&
			    (e->wd == tables_wd ?
			    strstr(e->name, ".table") != NULL :
			    strncmp(e->name, "leasehold.", 10) == 0));
		}
	}
	if (ours)
		scan_soon();
	deaf_ns = mono_ns() + LOOK_NS;
}

static void
apply_conf(const struct conf *conf)
{
	int64_t cpu_then_ns = cpu_ns();

	log_level(conf->log_level);
	table_pass_configure(conf);
	tables_configure(conf);
	watch_tables_directory();
	tables_scan_soon();	/* for changes before the watch began */
	note_scan_cost(cpu_then_ns);
	serve_configure(conf->metrics, conf->metrics_mode);
}

static void
reload_conf(struct conf *conf, const struct conf_args *args)
{
	static struct conf fresh;
	char error[CONF_ERROR_MAX];

	notify_reloading();
	if (reaper_conf_load(&fresh, args, error) != 0) {
		log_line(LOG_ERR, "%s; the old configuration stays in use",
		    error);
	} else {
		if (strcmp(fresh.pidfile, conf->pidfile) != 0)
			log_line(LOG_WARNING, "the pid file stays %s until the "
			    "daemon is restarted", conf->pidfile);
		memcpy(fresh.pidfile, conf->pidfile, sizeof(fresh.pidfile));
		*conf = fresh;
		apply_conf(conf);
		log_line(LOG_INFO, "configuration read again");
	}
	told_tables = UINT_MAX;
	notify("READY=1");
}

static void
read_signals(struct conf *conf, const struct conf_args *args)
{
	struct signalfd_siginfo si;

	while (read(signal_fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		switch (si.ssi_signo) {
		case SIGHUP:
			reload_conf(conf, args);
			break;
		case SIGUSR1:
			tables_log();
			break;
		default:
			log_line(LOG_INFO, "ending: %s",
			    strsignal((int)si.ssi_signo));
			ending = true;
		}
	}
}

/* Returns the milliseconds until `ns`, rounded up, so that the loop does not
 * wake up just before it. */
static int
ms_until(int64_t ns)
{
	int64_t left = ns - mono_ns();

	if (left <= 0)
		return 0;
	left = (left + NS_PER_MS - 1) / NS_PER_MS;
	return left > 60000 ? 60000 : (int)left;
}

static void
wait_for_events(struct conf *conf, const struct conf_args *args, int timeout)
{
	struct epoll_event ev[EVENTS_MAX];
	int n = epoll_wait(epoll_fd, ev, EVENTS_MAX, timeout);

	for (int i = 0; i < n; i++) {
		uint32_t which = (uint32_t)ev[i].data.u64;

		switch ((enum kind)(ev[i].data.u64 >> 32)) {
		case SIGNAL:
			read_signals(conf, args);
			break;
		case DIRECTORY:
			read_directory();
			break;
		case TABLE:
			table_pass_wake(which);
			break;
		case LISTENER:
			serve_accept(which);
			break;
		case READER:
			serve_ready(which);
			break;
		}
	}
}

/* Does everything that is due.  Returns when to come back. */
static int64_t
run_due_work(void)
{
	int64_t now_ns = mono_ns(), next_ns, other_ns, cpu_then_ns;

	if (tables_is_look_due())
		scan_soon();
	if (look_ns <= now_ns) {
		cpu_then_ns = cpu_ns();
		watch_tables_directory();
		tables_scan(now_ns - looked_ns >= BLIND_NS);
		note_scan_cost(cpu_then_ns);
	}
	next_ns = table_pass_run_due();
	if (tables_is_look_due())
		scan_soon();
	show_table_count();
	other_ns = serve_run(mono_ns());
	if (other_ns < next_ns)
		next_ns = other_ns;
	if (look_ns < next_ns)
		next_ns = look_ns;
	now_ns = mono_ns();
	if (deaf_ns > 0 && deaf_ns <= now_ns) {
		(void)watch_fd(notify_fd, DIRECTORY, EPOLL_CTL_MOD);
		deaf_ns = 0;
	}
	if (deaf_ns > 0 && deaf_ns < next_ns)
		next_ns = deaf_ns;
	if (watchdog_ns > 0) {
		if (feed_ns <= now_ns) {
			notify("WATCHDOG=1");
			feed_ns = now_ns + watchdog_ns;
		}
		if (feed_ns < next_ns)
			next_ns = feed_ns;
	}
	return next_ns;
}

int
reaper_loop_run(struct conf *conf, const struct conf_args *args,
    void (*ready)(void))
{
	int error = set_up();
	unsigned n_passed;

	if (error != 0)
		return error;
	tables_begin(epoll_fd, TABLE);
	serve_begin(epoll_fd, LISTENER, READER, reaper_metrics_write);
	n_passed = serve_adopt("metrics");
	if (n_passed > 0)
		log_line(LOG_INFO, "metrics at %u socket%s of the service "
		    "manager", n_passed, n_passed == 1 ? "" : "s");
	watchdog_ns = notify_watchdog_ns();
	apply_conf(conf);
	ready();
	notify("READY=1");
	/* ends: by a signal */
	while (!ending) {
		int64_t next_ns = run_due_work();

		wait_for_events(conf, args, ms_until(next_ns));
	}
	notify("STOPPING=1");
	serve_end();
	tables_end();
	return 0;
}
