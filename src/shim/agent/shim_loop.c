/* SPDX-License-Identifier: MIT */
/*
 * The daemon's event loop (libevent).  All work is done in it, and nothing in
 * it blocks.  Two other threads exist: the library's thread for tickets, and
 * the one that writes the state file.  shim_main.c runs it.
 *
 * Signals: TERM and INT end the daemon, which first returns unused keys.  HUP
 * reads the configuration again; only its settings of log and metrics take
 * effect.  USR1 logs the state.
 *
 * The metrics socket belongs to daemon/serve.c, which uses an epoll set.  The
 * loop watches that set as one descriptor.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <bsd/string.h>
#include <bsd/unistd.h>
#include "daemon/daemon_log.h"
#include "daemon/notify.h"
#include "daemon/now.h"
#include "daemon/serve.h"
#include "shim/store/etcd.h"
#include "shim_loop.h"
#include "shim.h"
#include "daemon/exit_status.h"

#define EVENTS_MAX 32
#define LOOK_NS (100 * NS_PER_MS)

enum kind { LISTENER, READER };

static struct event_base *base;
static struct event *tick;
static struct shim *shim;
static struct conf *conf;
static const struct conf_args *args;
static char engine_why[SHIM_WHY_MAX];
static int epoll_fd = -1, status;
static int64_t watchdog_ns;
static bool shown_up;

static struct timeval
in_ns(int64_t ns)
{
	int64_t us = ns < 0 ? 0 : ns / 1000 + 1;

	return (struct timeval){ us / 1000000, us % 1000000 };
}

static const char *
or_null(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

static void
on_advice(const char *text, void *arg)
{
	log_line(LOG_WARNING, "%s", text);
}

static struct engine *
open_engine(const struct kv_hooks *hooks, const struct kv_mark *mark, void *arg)
{
	char root[CONF_TEXT_MAX + 1];
	struct etcd_opts o = { .base = base, .endpoints = conf->endpoints,
	    .root = root, .user = or_null(conf->user),
	    .password = or_null(conf->password),
	    .ca_file = or_null(conf->ca_file),
	    .cert_file = or_null(conf->cert_file),
	    .key_file = or_null(conf->key_file), .say = on_advice };

	/* a user of etcd needs permission for keys below this root only */
	(void)snprintf(root, sizeof(root), "%s/", conf->root);
	return etcd_open(&o, hooks, mark, engine_why, sizeof(engine_why));
}

static void
on_over(const char *why, void *arg)
{
	log_line(LOG_ERR, "ending: %s", why);
	status = EX_AWAY;
	(void)event_base_loopbreak(base);
}

static void
on_ended(void *arg)
{
	(void)event_base_loopbreak(base);
}

static void
on_end_signal(evutil_socket_t sig, short what, void *arg)
{
	log_line(LOG_INFO, "ending: %s", strsignal((int)sig));
	notify("STOPPING=1");
	if (shim->ending)
		(void)event_base_loopbreak(base);
	else
		shim_end(shim, on_ended);
}

static void
on_reload_signal(evutil_socket_t sig, short what, void *arg)
{
	static struct conf fresh;
	char error[CONF_ERROR_MAX];

	notify_reloading();
	if (shim_conf_load(&fresh, args, error) != 0) {
		log_line(LOG_ERR, "%s; the old configuration stays in use",
		    error);
	} else {
		conf->log_level = fresh.log_level;
		conf->metrics_mode = fresh.metrics_mode;
		/* otherwise its default path may belong to another table's
		 * shim */
		if (fresh.metrics_said || strcmp(fresh.table, conf->table) == 0)
			(void)strlcpy(conf->metrics, fresh.metrics,
			    sizeof(conf->metrics));
		log_level(conf->log_level);
		serve_configure(conf->metrics, conf->metrics_mode);
		explicit_bzero(fresh.password, sizeof(fresh.password));
		log_line(LOG_INFO, "configuration read again (changes of "
		    "table, cluster and limits take effect at the next start)");
	}
	notify("READY=1");
}

static void
on_log_signal(evutil_socket_t sig, short what, void *arg)
{
	const struct shim_counts *c = &shim->count;

	log_line(LOG_NOTICE, "table %s: %s; %u keys of the cluster, %u in "
	    "mind; %u connections, %u wants; %" PRIu64 " taken, %" PRIu64
	    " returned, %" PRIu64 " recalls; %" PRIu64 " sessions lost",
	    lh_table_name(shim->lh), shim->up && !shim->expired ? "up" : "dark",
	    shim->n_rights, shim->n_keys, shim->n_clients, shim->n_requests,
	    c->taken, c->returned, c->recalls, c->lost);
}

static void
write_metrics(FILE *f)
{
	metrics_write(shim, f);
	fprintf(f, "# HELP leasehold_shim_cpu_seconds_total Processor time "
	    "that the daemon has used.\n"
	    "# TYPE leasehold_shim_cpu_seconds_total counter\n"
	    "leasehold_shim_cpu_seconds_total %.6f\n",
	    (double)lhi_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
}

static void
on_metrics(evutil_socket_t fd, short what, void *arg)
{
	struct epoll_event ev[EVENTS_MAX];
	int n = epoll_wait(epoll_fd, ev, EVENTS_MAX, 0);

	for (int i = 0; i < n; i++) {
		uint32_t which = (uint32_t)ev[i].data.u64;

		if (ev[i].data.u64 >> 32 == LISTENER)
			serve_accept(which);
		else
			serve_ready(which);
	}
}

/* Feeds the service manager's watchdog, ends slow readers of the metrics, and
 * updates the status text. */
static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	static int64_t feed_ns;
	int64_t now_ns = mono_ns();
	struct timeval tv = in_ns(LOOK_NS);
	bool up = shim->up && !shim->expired;

	(void)serve_run(now_ns);
	if (watchdog_ns > 0 && feed_ns <= now_ns) {
		notify("WATCHDOG=1");
		feed_ns = now_ns + watchdog_ns;
	}
	if (up != shown_up) {
		notify("STATUS=%s", up ? "Session with the cluster is up" :
		    "No session with the cluster");
		setproctitle("%s: %s", conf->table, up ? "up" : "away");
	}
	shown_up = up;
	(void)event_add(tick, &tv);
}

static bool
handle_signal(int sig, event_callback_fn fn)
{
	struct event *e = evsignal_new(base, sig, fn, NULL);

	return e != NULL && event_add(e, NULL) == 0;
}

/* Returns a loop with precise timers.  With the coarse clock a timer fires up
 * to a tick too early and then repeats every millisecond: three wake-ups
 * instead of one. */
static struct event_base *
new_base(void)
{
	struct event_config *c = event_config_new();
	struct event_base *b;

	if (c == NULL)
		return NULL;
	(void)event_config_set_flag(c, EVENT_BASE_FLAG_PRECISE_TIMER);
	b = event_base_new_with_config(c);
	event_config_free(c);
	return b;
}

static bool
set_up_loop(void)
{
	struct event *metrics;

	base = new_base();
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (base == NULL || epoll_fd < 0)
		return false;
	metrics = event_new(base, epoll_fd, EV_READ | EV_PERSIST, on_metrics,
	    NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	serve_begin(epoll_fd, LISTENER, READER, write_metrics);
	return metrics != NULL && event_add(metrics, NULL) == 0 &&
	    handle_signal(SIGTERM, on_end_signal) &&
	    handle_signal(SIGINT, on_end_signal) &&
	    handle_signal(SIGHUP, on_reload_signal) &&
	    handle_signal(SIGUSR1, on_log_signal) &&
	    (tick = evtimer_new(base, on_tick, NULL)) != NULL;
}

static int
exit_status(int e)
{
	return e == -EBUSY || e == -ESTALE ? EX_AWAY : e == -EUCLEAN ||
	    e == -EINVAL || e == -EOPNOTSUPP ? EX_BAD_CONFIG : EX_SYSTEM;
}

static int
open_shim(void)
{
	struct shim_opts o = { .base = base, .table = conf->table,
	    .table_flags = conf->system ? LH_SYSTEM : 0,
	    .engine = open_engine, .root = conf->root, .host = conf->host,
	    .ttl_ms = (unsigned)conf->ttl_ms,
	    .timeout_ms = (unsigned)conf->timeout_ms, .socket = conf->socket,
	    .socket_mode = conf->socket_mode, .state_file = conf->state_file,
	    .max_clients = (unsigned)conf->max_clients,
	    .max_keys = (unsigned)conf->max_keys,
	    .hold_min_ms = (unsigned)conf->hold_min_ms,
	    .idle_ms = conf->idle_ms, .over = on_over };
	char why[SHIM_WHY_MAX];
	int e;

	if (shim_conf_warning(conf) != NULL)
		log_line(LOG_WARNING, "%s", shim_conf_warning(conf));
	e = shim_open(&shim, &o, why);
	explicit_bzero(conf->password, sizeof(conf->password));
	if (e == 0)
		return 0;
	log_line(LOG_ERR, "cannot begin: %s", engine_why[0] != '\0' ?
	    engine_why : why);
	return engine_why[0] != '\0' ? EX_BAD_CONFIG : exit_status(e);
}

int
shim_loop_run(struct conf *c, const struct conf_args *a, void (*ready)(void))
{
	conf = c;
	args = a;
	if (!set_up_loop()) {
		log_line(LOG_ERR, "cannot begin: %s", strerror(errno));
		return EX_SYSTEM;
	}
	status = open_shim();
	if (status != 0)
		return status;
	watchdog_ns = notify_watchdog_ns();
	serve_configure(conf->metrics, conf->metrics_mode);
	ready();
	notify("READY=1\nSTATUS=No session with the cluster yet");
	event_active(tick, EV_TIMEOUT, 0);
	(void)event_base_dispatch(base);
	serve_end();
	shim_close(shim);
	return status;
}
