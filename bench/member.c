/* SPDX-License-Identifier: MIT */
/*
 * A member of the cluster alone: the recipe of the shim
 * (src/shim/member/recipe.h) without table, socket and processes.  It releases
 * each key at once: no delegation.
 */
#include <string.h>

#include "etcd.h"
#include "shim/store/etcd.h"
#include "shim/member/recipe.h"

#define PATIENCE_NS UINT64_C(20000000000)

static struct event_base *base;
static struct recipe *recipe;
static bool settled, granted, left;

static void on_store(enum kv_state s, const char *why, void *arg)
{
	(void)s, (void)why, (void)arg;
}

static void on_up(const struct recipe_session *s, bool adopted, void *arg)
{
	(void)s, (void)adopted, (void)arg;
}

static void on_alive(uint64_t until_ns, void *arg)
{
	(void)until_ns, (void)arg;
}

static void on_found(const struct recipe_found *f, void *arg)
{
	(void)f, (void)arg;
}

static void on_settled(void *arg)
{
	(void)arg;
	settled = true;
}

static void on_lost(const char *why, void *arg)
{
	(void)arg;
	bench_die("the session was lost: %s", why);
}

static void on_mark(const struct kv_mark *m, void *arg)
{
	(void)m, (void)arg;
}

static void on_retired(void *arg)
{
	(void)arg;
}

static void on_granted(struct claim *c, int64_t revision, void *arg)
{
	(void)c, (void)revision, (void)arg;
	granted = true;
}

static void on_anchored(struct claim *c, int64_t revision, void *arg)
{
	(void)c, (void)revision, (void)arg;
}

static void on_recalled(struct claim *c, enum claim_mode mode, void *arg)
{
	(void)c, (void)mode, (void)arg;
}

static void on_busy(struct claim *c, const char *who, void *arg)
{
	(void)c, (void)arg;
	bench_die("somebody has it: %s", who);
}

static void on_failed(struct claim *c, int error, const char *why, void *arg)
{
	(void)c, (void)error, (void)arg;
	bench_die("not granted: %s", why);
}

static void on_left(struct claim *c, void *arg)
{
	(void)c, (void)arg;
	left = true;
}

static struct engine *engine(const struct kv_hooks *hooks,
    const struct kv_mark *mark, void *arg)
{
	struct etcd_opts o = { .base = base, .endpoints = arg,
	    .root = "bench-recipe/" };
	char why[256];

	return etcd_open(&o, hooks, mark, why, sizeof(why));
}

static void run_until(const bool *what)
{
	uint64_t end_ns = bench_clock_ns() + PATIENCE_NS;

	while (!*what) {
		event_base_loop(base, EVLOOP_ONCE);
		if (bench_clock_ns() > end_ns)
			bench_die("etcd does not answer");
	}
}

void member_open(const char *urls)
{
	static const struct recipe_hooks hooks = {
		.store = on_store, .up = on_up, .alive = on_alive,
		.found = on_found, .settled = on_settled, .lost = on_lost,
		.mark = on_mark, .retired = on_retired, .granted = on_granted,
		.anchored = on_anchored, .not_anchored = on_busy,
		.recalled = on_recalled,
		.busy = on_busy, .failed = on_failed, .left = on_left
	};
	struct recipe_opts o = { .engine = engine,
	    .engine_arg = (void *)(uintptr_t)urls, .root = "bench-recipe",
	    .host = "bench", .ttl_ms = 10000, .hooks = &hooks };

	base = event_base_new();
	o.base = base;
	recipe = base ? recipe_open(&o) : NULL;
	if (!recipe)
		bench_die("no member of the cluster");
	settled = false;
	run_until(&settled);
}

void member_pair(void)
{
	static const struct claim_want want = {
		.key = { (const uint8_t *)"key", 3 }, .mode = CLAIM_EXCLUSIVE
	};
	struct claim *claim;

	granted = left = false;
	bench_need(recipe_claim(recipe, &want, 1, 0, &claim), "recipe_claim");
	run_until(&granted);
	claim_leave(claim);
	run_until(&left);
}

void member_close(void)
{
	recipe_close(recipe);
	event_base_free(base);
}
