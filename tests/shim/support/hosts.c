/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <bsd/string.h>
#include "hosts.h"
#include "daemon/daemon_log.h"
#include "op/acquire_target.h"


struct host hosts[HOSTS_MAX];
struct fake_store *hosts_store;

static unsigned n_hosts;
/* not on a disk: a write to that may take longer than a shim waits for its end,
 * and the next one is refused until it is through (shim/agent/shim_state.c) */
static char dir[] = "/dev/shm/leasehold-shim.XXXXXX";
static struct event_base *base;
static pthread_t thread;
static int post[2];
static struct job {
	void (*fn)(void *arg);
	void *arg;
} job;
static struct t_event done_one;
static uint32_t done_count;

static void
on_post(evutil_socket_t fd, short what, void *arg)
{
	char c;

	if (read(fd, &c, 1) != 1)
		return;
	if (job.fn == NULL)
		(void)event_base_loopbreak(base);
	else
		job.fn(job.arg);
	t_post(&done_one);
}

static void *
run(void *arg)
{
	struct event *posted = event_new(base, post[0], EV_READ | EV_PERSIST,
	    on_post, NULL);

	(void)event_add(posted, NULL);
	(void)event_base_dispatch(base);
	event_free(posted);
	return NULL;
}

void
hosts_do(void (*fn)(void *arg), void *arg)
{
	job.fn = fn;
	job.arg = arg;
	if (write(post[1], "", 1) != 1 ||
	    !t_await(&done_one, ++done_count, 6 * T_HANG_MS))
		bail_out("the thread of the shims hangs");
}

static void
on_over(const char *why, void *arg)
{
	struct host *h = arg;

	(void)strlcpy(h->over, why, sizeof(h->over));
}

static struct engine *
open_engine(const struct kv_hooks *hooks, const struct kv_mark *mark, void *arg)
{
	struct host *h = arg;

	h->engine = fake_open(hooks, mark, &h->fake);
	if (h->cut_first)
		fake_cut(h->engine, true);
	h->cut_first = false;
	return h->engine;
}

static void
do_up(void *arg)
{
	struct host *h = arg;

	h->last_error = shim_open(&h->shim, &h->opts, h->why);
}

static void
do_down(void *arg)
{
	struct host *h = arg;

	shim_close(h->shim);
	h->shim = NULL;
}

static void
on_ended(void *arg)
{
	((struct host *)arg)->ended = true;
}

static void
do_end(void *arg)
{
	struct host *h = arg;

	h->ended = false;
	shim_end(h->shim, on_ended);
}

int
host_up(struct host *h)
{
	hosts_do(do_up, h);
	return h->last_error;
}

void
host_down(struct host *h)
{
	if (h->shim != NULL)
		hosts_do(do_down, h);
}

void
host_patient(struct host *h, int64_t ms)
{
	host_down(h);
	h->opts.timeout_ms = (unsigned)ms;
	is(host_up(h), 0, "a shim that has much patience");
	ok(t_until(T_HANG_MS, host_reaches_now(h)), "it is up");
}

void
host_ended(struct host *h)
{
	hosts_do(do_end, h);
	ok(t_until(T_HANG_MS, h->ended), "host %u: the shim ends",
	    h->number);
	host_down(h);
}

static void
do_reach(void *arg)
{
	struct host *h = arg;

	h->last_error = h->shim != NULL && h->shim->settled &&
	    !h->shim->expired && h->shim->until_ns > shim_boot_ns();
}

bool
host_reaches_now(struct host *h)
{
	hosts_do(do_reach, h);
	return h->last_error;
}

static void
do_cut(void *arg)
{
	struct host *h = arg;

	fake_cut(h->engine, h->last_error);
}

void
host_cut(struct host *h, bool cut)
{
	h->last_error = cut;
	hosts_do(do_cut, h);
}

static void
do_stop(void *arg)
{
	t_sleep_ms(*(int64_t *)arg);
}

void
hosts_stop(int64_t ms)
{
	hosts_do(do_stop, &ms);
}

static bool
find(struct host *h, const char *key, struct lhi_ref *ref)
{
	struct lhi_key_name n;

	return lhi_key_name_check(h->lh, key, 0, &n) == 0 &&
	    lhi_key_name_resolve(h->lh, &n, LH_NO_CREATE, ref) == 0;
}

unsigned
host_right(struct host *h, const char *key)
{
	struct lhi_ref ref;

	return find(h, key, &ref) && lhi_right_now(&h->lh->v, ref.slot) ?
	    right_mode(lhi_right_load(&h->lh->v, ref.slot)) : RIGHT_NONE;
}

bool
host_may(struct host *h, const char *key, unsigned mode)
{
	return host_right(h, key) >= mode &&
	    shim_boot_ns() < lhi_cluster_until(&h->lh->v);
}

static struct shim_counts counts;
static unsigned keys;

static void
do_counts(void *arg)
{
	counts = ((struct host *)arg)->shim->count;
	keys = ((struct host *)arg)->shim->n_keys;
}

struct shim_counts
host_counts(struct host *h)
{
	hosts_do(do_counts, h);
	return counts;
}

unsigned
host_keys(struct host *h)
{
	hosts_do(do_counts, h);
	return keys;
}

int
dial_raw(struct host *h)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)strlcpy(at.sun_path, h->socket, sizeof(at.sun_path));
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
		bail_out("cannot connect to %s: %s", h->socket,
		    strerror(errno));
	return fd;
}

void
say(int fd, const struct lhi_frame *f)
{
	static char buf[FRAME_LEN_MAX];
	int n = lhi_frame_pack(f, buf, sizeof(buf));

	if (n < 0)
		bail_out("that is no frame: %s", strerror(-n));
	(void)send(fd, buf, (size_t)n, MSG_NOSIGNAL);
}

int
hear(int fd, struct lhi_frame *f, int64_t ms)
{
	static char buf[FRAME_LEN_MAX];
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;

	if (poll(&p, 1, (int)ms) != 1)
		return -ETIMEDOUT;
	n = recv(fd, buf, sizeof(buf), 0);
	if (n <= 0)
		return 0;
	return lhi_frame_read(f, buf, (size_t)n) == 0 ? f->type : -EBADMSG;
}

int
dial(struct host *h)
{
	static struct lhi_frame f;
	const struct shm_header *hdr = h->lh->v.hdr;
	int fd = dial_raw(h);

	f = (struct lhi_frame){ .type = FRAME_HELLO, .id = 1 };
	f.uuid[0] = sh64_load(&hdr->uuid[0]);
	f.uuid[1] = sh64_load(&hdr->uuid[1]);
	say(fd, &f);
	if (hear(fd, &f, T_HANG_MS) != FRAME_WELCOME)
		bail_out("no welcome");
	return fd;
}

void
hosts_want(int fd, uint32_t id, const char *key, unsigned mode, unsigned flags)
{
	struct lhi_frame f = { .type = FRAME_WANT, .id = id,
	    .flags = (uint8_t)flags, .n = 1, .wait_ms = FRAME_NO_END };

	f.key[0].mode = mode == RIGHT_SHARED ? LH_SHARED : LH_EXCLUSIVE;
	f.key[0].len = (uint8_t)strlen(key);
	f.key[0].key = key;
	say(fd, &f);
}

int64_t
hosts_try_ms(void)
{
	return 2 * (int64_t)hosts[0].opts.timeout_ms + 50;
}

bool
try_ran_out(int type, unsigned flags, int64_t asked_ns)
{
	return type == FRAME_AWAY && (flags & FRAME_TRY) &&
	    t_since_ms(asked_ns) >= hosts_try_ms();
}

int
ask(int fd, const char *key, unsigned mode, unsigned flags)
{
	static struct lhi_frame f;
	int64_t then_ns;
	int type, n = 0;

	do {
		then_ns = t_now_ns();
		hosts_want(fd, 7, key, mode, flags);
		type = hear(fd, &f, T_HANG_MS);
	} while (try_ran_out(type, flags, then_ns) && ++n < 3);
	return type;
}

int
take(struct host *h, const char *key, unsigned mode, int64_t wait_ms,
    struct lh_lease *l)
{
	int64_t end_ns = t_now_ns() + wait_ms * T_NS_PER_MS;
	int fd = dial(h), e = -EAGAIN;

	while (e == -EAGAIN && t_now_ns() < end_ns) {
		struct lh_acquire_opts o = t_opts(60000,
		    (end_ns - t_now_ns()) / T_NS_PER_MS + 1);
		int type;

		o.mode = mode == RIGHT_SHARED ? LH_SHARED : LH_EXCLUSIVE;
		type = host_may(h, key, mode) ? FRAME_GRANTED :
		    ask(fd, key, mode, 0);
		e = type == FRAME_GRANTED || type == FRAME_QUEUED ? 0 :
		    type == FRAME_BUSY ? -EBUSY :
		    type == FRAME_DENIED ? -EACCES : -EHOSTUNREACH;
		if (e == 0)
			e = lh_acquire(h->lh, key, &o, l);
		if (e == 0 && !host_may(h, key, mode)) {
			(void)lh_release(h->lh, l);
			e = -EAGAIN;
		}
	}
	(void)close(fd);
	return e == -EAGAIN ? -ETIMEDOUT : e;
}

static void
host_begin_one(struct host *h, unsigned i)
{
	h->number = i;
	h->table = t_table();
	h->lh = t_open(h->table);
	(void)snprintf(h->socket, sizeof(h->socket), "%s/%u/sock", dir, i);
	(void)snprintf(h->state, sizeof(h->state), "%s/state.%u", dir, i);
	h->fake = (struct fake_host){ hosts_store, i };
	h->opts = (struct shim_opts){ .base = base, .table = h->table,
	    .engine = open_engine, .engine_arg = h, .root = "test",
	    .host = "host",
	    .ttl_ms = h->opts.ttl_ms ?: (unsigned)t_ms(HOSTS_TTL_MS),
	    .timeout_ms = (unsigned)t_ms(50), .socket = h->socket,
	    .socket_mode = h->opts.socket_mode ?: 0600, .state_file = h->state,
	    .max_clients = h->opts.max_clients ?: 1000,
	    .max_keys = h->opts.max_keys ?: 1000, .hold_min_ms = 10,
	    .idle_ms = h->opts.idle_ms,
	    .over = on_over, .arg = h };
	if (host_up(h) != 0)
		bail_out("host %u: %s", i, h->why);
}

static void
remove_all(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -rf %s", dir);
	(void)!system(command);
}

/* As the program's (loop.c). */
static struct event_base *
new_base(void)
{
	struct event_config *c = event_config_new();
	struct event_base *b;

	(void)event_config_set_flag(c, EVENT_BASE_FLAG_PRECISE_TIMER);
	b = event_base_new_with_config(c);
	event_config_free(c);
	return b;
}

void
hosts_begin(unsigned n)
{
	if (mkdtemp(dir) == NULL || pipe(post) != 0)
		bail_out("no directory");
	(void)atexit(remove_all);
	log_begin("shim");
	log_level(getenv("SHIM_LOG") != NULL ? LOG_DEBUG : LOG_EMERG);
	base = new_base();
	hosts_store = fake_store_new(base);
	thread = t_thread(run, NULL);
	n_hosts = n;
	for (unsigned i = 0; i < n; i++)
		host_begin_one(&hosts[i], i);
	for (unsigned i = 0; i < n; i++)
		if (!t_until(T_HANG_MS, host_reaches_now(&hosts[i])))
			bail_out("host %u: no session", i);
}

void
hosts_end(void)
{
	for (unsigned i = 0; i < n_hosts; i++) {
		host_down(&hosts[i]);
		t_close(hosts[i].lh);
	}
	hosts_do(NULL, NULL);
	(void)t_join(thread);
	fake_store_free(hosts_store);
	event_base_free(base);
}
