/* SPDX-License-Identifier: MIT */
/* test: slow 25 */
/*
 * Guarantees G1 and G2: members in processes of their own contend for a few
 * keys over a real etcd of three, while its leader is killed and stopped.  Half
 * of them are behind a network that cuts connections and delays both
 * directions.  A shared gate sees that no two holders exclude each other at
 * once before D, and that tokens grow.
 *
 * Otherwise two hosts would hold one key when the network fails.
 */
#include <stdatomic.h>
#include <signal.h>
#include <sched.h>
#include <time.h>
#include <sys/wait.h>
#include "shim/member/recipe.h"
#include "shim/support/etcd.h"
#include "shim/support/kv.h"
#include "shim/support/loop.h"
#include "shim/support/proxy.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define PROCS 4
#define KEYS 3
#define TTL_MS 3000
#define GRANTS 2000		/* at least so many, in all */
#define GRANTS_LONG 20000

struct gate {
	atomic_flag busy;	/* for the few instructions below */
	unsigned writer;	/* process, or 0 */
	uint64_t writer_until_ns;
	unsigned readers;	/* bit each */
	uint64_t reader_until_ns[PROCS + 1];
	int64_t highest;	/* of writers' tokens */
	int64_t highest_reader;
};

struct shared {
	struct gate gates[KEYS];
	_Atomic unsigned grants, violations, lost, failed, stop, up;
	_Atomic unsigned of[PROCS + 1];
};

static struct shared *shared;
static struct event_base *base;

static uint64_t
boottime_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* One process's. */

static struct member {
	unsigned number;
	struct recipe *r;
	uint64_t until_ns;
	int quit;		/* claims that are gone for good */
	struct hold {
		struct claim *c;
		unsigned key;
		bool in;
		bool write;
		struct event *timer;
	} holds[KEYS];
	struct proxy *net[CLUSTER_MEMBERS];
	struct event *mishap;
	char endpoints[200];
} me;

static void
lock(struct gate *g)
{
	while (atomic_flag_test_and_set(&g->busy))
		(void)sched_yield();
}

static void
violation(const char *what, const struct hold *h, int64_t revision)
{
	shared->violations++;
	diag("%s: key %u, process %u, token %lld", what, h->key, me.number,
	    (long long)revision);
}

/* False: our D has passed. */
static bool
come_in(struct hold *h, int64_t revision)
{
	struct gate *g = &shared->gates[h->key];
	uint64_t now;

	lock(g);
	now = boottime_ns();	/* not of before we were stopped, say */
	if (now >= me.until_ns) {
		atomic_flag_clear(&g->busy);
		return false;
	}
	if (g->writer != 0 && g->writer != me.number && now <
	    g->writer_until_ns)
		violation("a writer is in", h, revision);
	if (revision <= g->highest || (h->write &&
	    revision <= g->highest_reader))
		violation("the token is behind", h, revision);
	for (unsigned i = 1; h->write && i <= PROCS; i++)
		if (i != me.number && (g->readers & 1u << i) &&
		    now < g->reader_until_ns[i])
			violation("a reader is in", h, revision);
	if (h->write) {
		g->highest = revision;
		g->writer = me.number;
		g->writer_until_ns = me.until_ns;
	} else {
		if (revision > g->highest_reader)
			g->highest_reader = revision;
		g->readers |= 1u << me.number;
		g->reader_until_ns[me.number] = me.until_ns;
	}
	h->in = true;
	atomic_flag_clear(&g->busy);
	return true;
}

static void
go_out(struct hold *h)
{
	struct gate *g = &shared->gates[h->key];

	if (!h->in)
		return;
	lock(g);
	if (h->write && g->writer == me.number)
		g->writer = 0;
	if (!h->write)
		g->readers &= ~(1u << me.number);
	h->in = false;
	atomic_flag_clear(&g->busy);
}

static void
claim_again(struct hold *h)
{
	char name[16];
	struct claim_want w = { .arg = h };

	if (shared->stop) {
		me.quit++;
		return;
	}
	(void)snprintf(name, sizeof(name), "key/%u", h->key);
	w.key = kv_text(name);
	h->write = shared->grants % 4 != 0;
	w.mode = h->write ? CLAIM_EXCLUSIVE : CLAIM_SHARED;
	if (recipe_claim(me.r, &w, 1, 0, &h->c) != 0)
		bail_out("cannot claim");
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct hold *h = arg;

	(void)fd;
	(void)what;
	go_out(h);
	claim_leave(h->c);
}

static void
on_granted(struct claim *c, int64_t revision, void *arg)
{
	struct timeval tv = { 0, 300 };
	struct hold *h = arg;

	h->c = c;
	if (come_in(h, revision)) {
		shared->grants++;
		shared->of[me.number]++;
	}
	(void)event_add(h->timer, &tv);
}

static void
on_failed(struct claim *c, int error, const char *why, void *arg)
{
	struct hold *h = arg;

	(void)c;
	(void)why;
	(void)event_del(h->timer);
	go_out(h);
	shared->failed++;
	if (error != ESTALE)
		diag("process %u, key %u: %s", me.number, h->key, why);
	claim_again(h);
}

static void
on_left(struct claim *c, void *arg)
{
	(void)c;
	claim_again(arg);
}

static void
on_alive(uint64_t until_ns, void *arg)
{
	(void)arg;
	me.until_ns = until_ns;
	for (unsigned i = 0; i < KEYS; i++) {
		struct gate *g = &shared->gates[i];

		if (!me.holds[i].in)
			continue;
		lock(g);
		if (me.holds[i].write && g->writer == me.number)
			g->writer_until_ns = until_ns;
		if (!me.holds[i].write)
			g->reader_until_ns[me.number] = until_ns;
		atomic_flag_clear(&g->busy);
	}
}

static void
on_lost(const char *why, void *arg)
{
	(void)arg;
	me.until_ns = 0;
	shared->lost++;
	diag("process %u lost its session: %s", me.number, why);
}

static void
on_up(const struct recipe_session *s, bool adopted, void *arg)
{
	(void)s;
	(void)adopted;
	(void)arg;
	shared->up++;
}

static void no_store(enum kv_state s, const char *why, void *arg)
{ (void)s; (void)why; (void)arg; }
static void no_found(const struct recipe_found *f, void *arg)
{ (void)f; (void)arg; }
static void nothing(void *arg) { (void)arg; }
static void no_mark(const struct kv_mark *m, void *arg)
{ (void)m; (void)arg; }
static void no_anchor(struct claim *c, int64_t r, void *arg)
{ (void)c; (void)r; (void)arg; }
static void no_recall(struct claim *c, enum claim_mode m, void *arg)
{ (void)c; (void)m; (void)arg; }
static void no_busy(struct claim *c, const char *who, void *arg)
{ (void)c; (void)who; (void)arg; }

static const struct recipe_hooks hooks = {
	.store = no_store, .up = on_up, .alive = on_alive, .found = no_found,
	.settled = nothing, .lost = on_lost, .mark = no_mark,
	.retired = nothing, .granted = on_granted, .anchored = no_anchor,
	.not_anchored = no_busy,
	.recalled = no_recall, .busy = no_busy, .failed = on_failed,
	.left = on_left,
};

static struct engine *
engine(const struct kv_hooks *kv, const struct kv_mark *mark, void *arg)
{
	struct etcd_opts o = { .base = base, .endpoints = arg,
	    .root = "lh/" };
	char why[200];
	struct engine *e = etcd_open(&o, kv, mark, why, sizeof(why));

	if (e == NULL)
		bail_out("%s", why);
	return e;
}

static struct recipe *
open_recipe(const char *endpoints, const struct recipe_hooks *h)
{
	char host[16];
	struct recipe_opts o = { .engine = engine,
	    .engine_arg = (void *)(uintptr_t)endpoints, .root = "lh",
	    .ttl_ms = TTL_MS, .hooks = h };
	struct recipe *r;

	o.base = base;
	(void)snprintf(host, sizeof(host), "host%u", me.number);
	o.host = host;
	r = recipe_open(&o);
	if (r == NULL)
		bail_out("no member");
	return r;
}

/* Something happens to the network of one who has a bad one. */
static void
on_mishap(evutil_socket_t fd, short what, void *arg)
{
	struct proxy *p = me.net[(unsigned)random() % CLUSTER_MEMBERS];
	struct timeval tv = { 0, 10000 + random() % 200000 };

	(void)fd;
	(void)what;
	(void)arg;
	for (unsigned i = 0; i < CLUSTER_MEMBERS; i++)
		proxy_hold(me.net[i], false);
	switch (shared->stop ? 3 : random() % 4) {
	case 0:
		proxy_hang_up(p);
		break;
	case 1:
		proxy_cut_after(p, (int)(random() % 500), -1);
		break;
	case 2:
		proxy_cut_after(p, -1, (int)(random() % 500));
		break;
	default:
		for (unsigned i = 0; i < CLUSTER_MEMBERS; i++)
			proxy_cut_after(me.net[i], -1, -1);
		if (!shared->stop)	/* longer than a call's timeout */
			proxy_hold(p, true);
		break;
	}
	(void)event_add(me.mishap, &tv);
}

static void
bad_network(struct cluster *c)
{
	struct timeval tv = { 0, 100000 };

	me.endpoints[0] = '\0';
	for (unsigned i = 0; i < CLUSTER_MEMBERS; i++) {
		size_t n = strlen(me.endpoints);

		me.net[i] = proxy_start(base, cluster_port(c, i));
		(void)snprintf(me.endpoints + n, sizeof(me.endpoints) - n,
		    "%s127.0.0.1:%u", i == 0 ? "" : ",",
		    proxy_port(me.net[i]));
	}
	srandom(me.number);
	me.mishap = event_new(base, -1, 0, on_mishap, NULL);
	(void)event_add(me.mishap, &tv);
}

static int
run_member(void *arg)
{
	struct cluster *c = arg;
	struct recipe_stats stats;

	memset(me.holds, 0, sizeof(me.holds));
	base = event_base_new();
	(void)snprintf(me.endpoints, sizeof(me.endpoints), "%s",
	    cluster_endpoints(c));
	if (me.number % 2 == 0)
		bad_network(c);
	me.r = open_recipe(me.endpoints, &hooks);
	for (unsigned i = 0; i < KEYS; i++) {
		me.holds[i].key = i;
		me.holds[i].timer = event_new(base, -1, 0, on_timer,
		    &me.holds[i]);
		claim_again(&me.holds[i]);
	}
	if (!loop_until(base, &me.quit, KEYS, 400000))
		diag("process %u: claims do not end", me.number);
	recipe_stats(me.r, &stats);
	diag("process %u: %ju calls, %ju of them unknown", me.number,
	    (uintmax_t)stats.calls, (uintmax_t)stats.unknown);
	recipe_close(me.r);
	if (me.number % 2 == 0) {
		for (unsigned i = 0; i < CLUSTER_MEMBERS; i++)
			proxy_stop(me.net[i]);
		event_free(me.mishap);
	}
	for (unsigned i = 0; i < KEYS; i++)
		event_free(me.holds[i].timer);
	event_base_free(base);
	return me.quit == KEYS ? 0 : 1;
}

static bool
grants_until(unsigned n, int ms)
{
	return t_until(t_ms(ms), shared->grants >= n);
}

static void
contend(struct cluster *c)
{
	pid_t pids[PROCS];
	unsigned at, leader, goal = getenv("LH_TEST_LONG") == NULL ? GRANTS :
	    GRANTS_LONG;

	for (unsigned i = 0; i < PROCS; i++) {
		me.number = i + 1;
		pids[i] = t_fork(run_member, c);
	}
	ok(grants_until(500, 20000), "grants");
	for (unsigned i = 0; i < (goal == GRANTS ? 2 : 6); i++) {
		bool stop = i % 2 != 0;

		leader = cluster_leader(c);
		at = shared->grants;
		(stop ? cluster_stop : cluster_kill)(c, leader);
		ok(grants_until(at + 300, 15000), "the leader is %s: they go "
		    "on", stop ? "stopped" : "killed");
		(stop ? cluster_cont : cluster_again)(c, leader);
		(void)grants_until(shared->grants + 300, 15000);
	}
	/* one is stopped until its session is stolen */
	t_stop(pids[0]);
	t_sleep_ms(TTL_MS * 2);
	at = shared->grants;
	ok(grants_until(at + 100, 15000), "a member is stopped: others go on");
	t_cont(pids[0]);
	ok(grants_until(goal, 900000), "%u grants", goal);
	shared->stop = 1;
	for (unsigned i = 0; i < PROCS; i++)
		is(t_reap(pids[i], 20000), 0, "process %u ends well: %u "
		    "grants", i + 1, shared->of[i + 1]);
	is(shared->violations, 0, "nobody was in with another, tokens grew");
	diag("%u grants, %u sessions lost, %u claims failed", shared->grants,
	    shared->lost, shared->failed);
}

int
main(void)
{
	struct cluster *c;

	shared = t_shared(sizeof(*shared));
	c = cluster_start(3, NULL);
	contend(c);
	cluster_end(c);
	return done();
}
