/* SPDX-License-Identifier: MIT */
/*
 * A bare client of etcd: one transaction at a time, over the connection that
 * the shim uses itself (src/shim/store/etcd.c), and nothing around it.  So what
 * the shim's figures have more than these is what locks cost, not what a slower
 * client does.
 */
#include <stdlib.h>
#include <string.h>

#include "etcd.h"
#include "shim/store/etcd.h"

#define HERE_NS UINT64_C(20000000000)

struct bare {
	struct event_base *base;
	struct engine *engine;
	enum kv_state state;
	bool answered, done;
	void (*changed)(void);
};

static void on_state(enum kv_state state, const char *why, void *arg)
{
	struct bare *b = arg;

	(void)why;
	b->state = state;
}

static void on_changes(const struct kv_change *c, size_t n, int64_t revision,
    void *arg)
{
	struct bare *b = arg;

	(void)c;
	(void)revision;
	if (n > 0 && b->changed)
		b->changed();
}

struct bare *bare_open(const char *urls)
{
	struct bare *b = calloc(1, sizeof(*b));
	struct kv_hooks hooks = { on_state, on_changes, b };
	struct kv_mark mark = { .revision = 0 };
	struct etcd_opts opts = { .endpoints = urls, .root = "bare/" };
	char why[256] = "no memory";

	if (b)
		b->base = event_base_new();
	if (b && b->base) {
		opts.base = b->base;
		b->engine = etcd_open(&opts, &hooks, &mark, why, sizeof(why));
	}
	if (!b || !b->engine)
		bench_die("a client of etcd: %s", why);
	return b;
}

void bare_close(struct bare *b)
{
	b->engine->ops->close(b->engine);
	event_base_free(b->base);
	free(b);
}

/* Until *what, or until the time is over.  A timer wakes the loop for that. */
static bool run_until(struct bare *b, const bool *what, uint64_t end_ns)
{
	struct timeval tick = { 0, 10000 };

	while (!*what && bench_clock_ns() < end_ns) {
		event_base_loopexit(b->base, &tick);
		event_base_loop(b->base, EVLOOP_ONCE);
	}
	return *what;
}

bool bare_here(struct bare *b)
{
	uint64_t end_ns = bench_clock_ns() + HERE_NS;
	static const bool never;

	while (b->state != KV_HERE || !bare_put(b, "bare/here", 1000)) {
		if (bench_clock_ns() > end_ns)
			return false;
		run_until(b, &never, bench_clock_ns() + 20000000);
	}
	return bare_delete(b, "bare/here");
}

static void on_answer(const struct kv_answer *a, void *arg)
{
	struct bare *b = arg;

	b->answered = true;
	b->done = a->fate == FATE_DONE && a->succeeded;
	event_base_loopbreak(b->base);
}

static bool ask(struct bare *b, const struct kv_txn *txn,
    unsigned int timeout_ms)
{
	b->answered = b->done = false;
	if (b->engine->ops->txn(b->engine, txn, (int)timeout_ms, on_answer,
	    b) < 0) {
		/* away: time to come back */
		run_until(b, &b->answered, bench_clock_ns() + 2000000);
		return false;
	}
	while (!b->answered)
		event_base_loop(b->base, EVLOOP_ONCE);
	return b->done;
}

static struct kv_range range_of(const char *key)
{
	struct kv_range r = { { (const uint8_t *)key, strlen(key) },
	    { NULL, 0 } };

	return r;
}

bool bare_put(struct bare *b, const char *key, unsigned int timeout_ms)
{
	struct kv_compare absent = { range_of(key), KV_CREATE, KV_EQUAL, 0 };
	struct kv_op put = { .what = KV_PUT, .range = range_of(key),
	    .value = { (const uint8_t *)"1", 1 } };
	struct kv_txn txn = { &absent, 1, &put, NULL, 1, 0 };

	return ask(b, &txn, timeout_ms);
}

bool bare_enqueue(struct bare *b, const char *key)
{
	struct kv_range all = range_of(key);
	struct kv_compare as_is[2] = {
		{ range_of("bare/session"), KV_CREATE, KV_EQUAL, 0 },
		{ range_of(key), KV_VERSION, KV_EQUAL, 0 }
	};
	struct kv_op then[2] = {
		{ .what = KV_PUT, .range = range_of(key),
		    .value = { (const uint8_t *)"bench", 5 } },
		{ .what = KV_GET }
	};
	struct kv_op otherwise = { .what = KV_GET, .keys_only = true };
	struct kv_txn txn = { as_is, 2, then, &otherwise, 2, 1 };
	uint8_t end[64];

	all.end.p = end;
	all.end.len = kv_prefix_end(all.key, end);
	then[1].range = otherwise.range = all;
	return ask(b, &txn, 5000);
}

bool bare_delete(struct bare *b, const char *key)
{
	struct kv_op del = { .what = KV_DELETE, .range = range_of(key) };
	struct kv_txn txn = { NULL, 0, &del, NULL, 1, 0 };

	return ask(b, &txn, 5000);
}

void bare_watch(struct bare *b, const char *prefix, void (*fn)(void))
{
	b->changed = fn;
	if (b->engine->ops->watch(b->engine, range_of(prefix).key) < 0)
		bench_die("etcd: no watch");
	for (;;)
		event_base_dispatch(b->base);
}
