/* SPDX-License-Identifier: MIT */
/* test: slow 16 */
/*
 * Guarantees G1, G2 and G9: three hosts with processes, and a store in which
 * everything fails that can: requests and answers are lost, late, refused and
 * denied.  Hosts are cut off, or may write nothing; shims are killed and
 * restarted; all are stopped for longer than a session.  Nothing is held twice,
 * tokens rise, and at the end all go on.  (SHIMD_SEED, SHIMD_SECONDS)
 *
 * Otherwise a rare combination of faults would give a key to two hosts.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include <bsd/string.h>
#include "support/hosts.h"

#define WORKERS 2		/* of a host */
#define LOG_MAX 200000

/* A lease that was good at `to`, or later. */
struct grant {
	uint64_t from, to, token;
	uint32_t mode, host;
};

static struct {
	struct t_event go;
	char table[HOSTS_MAX][80];
	_Atomic uint32_t ending, n;
	_Atomic uint64_t lost, away, denied, timeouts;
	struct grant log[LOG_MAX];
} *all;

static uint64_t seed;
static _Atomic unsigned denied = HOSTS_MAX;	/* that host may not write */

static uint64_t
draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void
once(struct lh *lh, unsigned host, uint32_t mode)
{
	struct lh_acquire_opts o = t_opts(60000, t_ms(300));
	struct grant g = { .mode = mode, .host = host };
	struct lh_lease l;
	uint32_t i;
	int e;

	o.mode = mode;
	e = lh_acquire(lh, "cluster:random", &o, &l);
	g.from = shim_boot_ns();
	if (e != 0) {
		atomic_fetch_add(e == -EHOSTUNREACH ? &all->away :
		    e == -EACCES ? &all->denied : &all->timeouts, 1);
		t_sleep_ms(2);
		return;
	}
	usleep((useconds_t)(draw() % 500));
	g.to = shim_boot_ns();
	g.token = l.token;
	if (lh_verify(lh, &l) != 0)
		atomic_fetch_add(&all->lost, 1);
	else if ((i = atomic_fetch_add(&all->n, 1)) < LOG_MAX)
		all->log[i] = g;
	(void)lh_release(lh, &l);
}

static int
work(void *arg)
{
	unsigned number = (unsigned)(uintptr_t)arg, host = number / WORKERS;
	struct lh *lh;

	if (!t_await(&all->go, 1, 4 * T_HANG_MS))
		return 1;
	lh = t_open(all->table[host]);
	seed += number * UINT64_C(0x9e3779b97f4a7c15) + 1;
	while (!atomic_load(&all->ending)) {
		once(lh, host, draw() % 4 == 0 ? LH_SHARED : LH_EXCLUSIVE);
		usleep((useconds_t)(draw() % 500));
	}
	return lh_close(lh) == 0 ? 0 : 1;
}

/* In the thread of the shims: one in fifty calls goes wrong. */
static enum fake_mishap
mishap(unsigned host, uint64_t call, void *arg)
{
	static uint64_t s;

	if (s == 0)
		s = *(uint64_t *)arg | 1;
	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	if (host == denied)
		return FAKE_DENIED;
	return s % 50 != 0 ? FAKE_NONE :
	    (enum fake_mishap)(1 + s / 50 % (FAKE_MISHAPS - 1));
}

static void
do_mishaps(void *arg)
{
	fake_store_mishaps(hosts_store, arg != NULL ? mishap : NULL, NULL,
	    arg);
}

static void
misfortune(void)
{
	struct host *h = &hosts[draw() % HOSTS_MAX];

	switch (draw() % 5) {
	case 0:
		host_down(h);
		t_sleep_ms((int64_t)(draw() % 2 == 0 ? 50 : 2500));
		if (host_up(h) != 0)
			bail_out("host %u: %s", h->number, h->why);
		break;
	case 1:
		host_cut(h, true);
		t_sleep_ms((int64_t)(draw() % 2000));
		host_cut(h, false);
		break;
	case 2:
		hosts_stop((int64_t)(draw() % 4 == 0 ? 2000 : 200));
		break;
	case 3:
		denied = h->number;
		t_sleep_ms((int64_t)(draw() % 2000));
		denied = HOSTS_MAX;
		break;
	default:
		t_sleep_ms(300);
	}
}

static int
by_time(const void *a, const void *b)
{
	const struct grant *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static void
judge(void)
{
	uint32_t n = all->n < LOG_MAX ? all->n : LOG_MAX;
	uint64_t end_x = 0, end_s = 0, max_x = 0, max_s = 0;
	int exclusion = 0, tokens = 0;

	qsort(all->log, n, sizeof(all->log[0]), by_time);
	for (uint32_t i = 0; i < n; i++) {
		const struct grant *g = &all->log[i];
		bool shared = g->mode == LH_SHARED;

		exclusion += g->from < end_x || (!shared && g->from < end_s);
		tokens += g->token <= max_x || (!shared && g->token <= max_s);
		if (shared) {
			end_s = g->to > end_s ? g->to : end_s;
			max_s = g->token > max_s ? g->token : max_s;
		} else {
			end_x = g->to > end_x ? g->to : end_x;
			max_x = g->token > max_x ? g->token : max_x;
		}
	}
	is(exclusion, 0, "no two had it at once");
	is(tokens, 0, "tokens rose");
	cmp(n, >, 200, "of many grants");
	diag("%u grants, %d lost, %d away, %d denied, %d other failures", n,
	    (int)all->lost, (int)all->away, (int)all->denied,
	    (int)all->timeouts);
}

int
main(void)
{
	const char *s = getenv("SHIMD_SEED"), *t = getenv("SHIMD_SECONDS");
	int64_t seconds = t != NULL ? atoll(t) : 15, end_ns;
	uint64_t first;
	pid_t pid[HOSTS_MAX * WORKERS];
	struct lh_lease l;
	int e;

	seed = s != NULL ? strtoull(s, NULL, 0) : 1 + (uint64_t)getpid();
	first = seed;
	all = t_shared(sizeof(*all));
	/* (before the shims' thread is: it may hold the allocator's locks, and
	 * ASan's, in GCC 12, would stay held in the child) */
	for (unsigned i = 0; i < HOSTS_MAX * WORKERS; i++)
		pid[i] = t_fork(work, (void *)(uintptr_t)i);
	for (unsigned i = 0; i < HOSTS_MAX; i++)
		hosts[i].opts.ttl_ms = (unsigned)t_ms(1000);
	hosts_begin(HOSTS_MAX);
	for (unsigned i = 0; i < HOSTS_MAX; i++)
		(void)strlcpy(all->table[i], hosts[i].table,
		    sizeof(all->table[i]));
	t_post(&all->go);
	hosts_do(do_mishaps, &seed);
	end_ns = t_now_ns() + seconds * NS_PER_SEC;
	while (t_now_ns() < end_ns)
		misfortune();
	hosts_do(do_mishaps, NULL);
	atomic_store(&all->ending, 1);
	for (unsigned i = 0; i < HOSTS_MAX * WORKERS; i++)
		is(t_reap(pid[i], T_HANG_MS), 0, "process %u ends", i);
	judge();
	for (unsigned i = 0; i < HOSTS_MAX; i++) {
		ok(t_until(T_HANG_MS, host_reaches_now(&hosts[i])),
		    "host %u has a session", i);
		/* who was denied it is, for a moment */
		(void)t_until(T_HANG_MS, (e = take(&hosts[i], "cluster:random",
		    RIGHT_EXCLUSIVE, T_HANG_MS, &l)) != -EACCES);
		is(e, 0, "  and takes the key");
		is(lh_release(hosts[i].lh, &l), 0, "  and leaves it");
	}
	hosts_end();
	if (tap_state.failed != 0)
		diag_failed("SHIMD_SEED=%llu", (unsigned long long)first);
	return done();
}
