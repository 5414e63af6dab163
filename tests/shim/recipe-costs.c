/* SPDX-License-Identifier: MIT */
/* test: slow 5 */
/*
 * A key that nobody contends for costs two transactions, one to acquire and one
 * to release, and takes as long as these two.  The figures are printed; they
 * are not judged, because the machine may be busy.
 *
 * Otherwise each key would cost the cluster more than it must.
 */
#include <stdlib.h>
#include "shim/support/etcd.h"
#include "shim/support/kv.h"
#include "shim/support/loop.h"
#include "shim/support/quiet.h"
#include "support/support.h"
#include "tap.h"

#define ROUNDS 200

static struct event_base *base;
static int granted, left, settled;

static void on_settled(void *arg) { (void)arg; settled++; }
static void on_granted(struct claim *c, int64_t r, void *arg)
{ (void)c; (void)r; (void)arg; granted++; }
static void on_left(struct claim *c, void *arg)
{ (void)c; (void)arg; left++; }

static struct engine *
engine(const struct kv_hooks *kv, const struct kv_mark *mark, void *arg)
{
	struct etcd_opts o = { .base = base, .endpoints = arg,
	    .root = "lh/" };
	char why[200];

	return etcd_open(&o, kv, mark, why, sizeof(why));
}

static int
by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void
say(const char *what, unsigned members, int64_t *ns, size_t n)
{
	qsort(ns, n, sizeof(ns[0]), by_number);
	diag("%u member%s, %s: p50 %d us, p99 %d us", members, members == 1 ?
	    "" : "s", what, (int)(ns[n / 2] / 1000),
	    (int)(ns[n - n / 100 - 1] / 1000));
}

/* Until it is done: a member may have to be let run first. */
static bool
until_done(struct kv_noted *n, const struct kv_txn *t)
{
	struct kv_said s;

	for (int i = 0; i < 50; i++) {
		if (kv_txn(n, t, KV_MS, &s) && s.fate == FATE_DONE)
			return true;
		loop_rest(base, 100);
	}
	return false;
}

static void
bare(struct cluster *c, unsigned members)
{
	/* true also when it has been asked before, and is not known */
	struct kv_compare any = { kv_key("t/b"), KV_CREATE, KV_EQUAL, 0 };
	struct kv_op put = { .what = KV_PUT, .range = kv_key("t/a"),
	    .value = kv_text("1") };
	struct kv_op del = { .what = KV_DELETE, .range = kv_key("t/a") };
	struct kv_txn in = { &any, 1, &put, NULL, 1, 0 };
	struct kv_txn out = { NULL, 0, &del, NULL, 1, 0 };
	int64_t ns[ROUNDS];
	struct kv_noted n;
	int done = 0;

	kv_open(&n, base, cluster_endpoints(c), NULL, NULL);
	ok(kv_here(&n, 5000), "here");
	for (int i = 0; i < ROUNDS; i++) {
		ns[i] = t_now_ns();
		done += until_done(&n, &in);
		done += until_done(&n, &out);
		ns[i] = t_now_ns() - ns[i];
	}
	is(done, 2 * ROUNDS, "bare transactions");
	say("a bare put and delete", members, ns, ROUNDS);
	kv_close(&n);
}

static void
member(struct cluster *c, unsigned members)
{
	struct recipe_hooks hooks = quiet_hooks();
	struct claim_want w = { .key = kv_text("key"),
	    .mode = CLAIM_EXCLUSIVE };
	struct recipe_opts o = { .base = base, .engine = engine,
	    .engine_arg = (void *)(uintptr_t)cluster_endpoints(c),
	    .root = "lh", .host = "h", .ttl_ms = 20000, .hooks = &hooks };
	struct recipe *r;
	struct recipe_stats before, after;
	int64_t ns[ROUNDS];
	struct claim *claim;

	granted = left = settled = 0;
	hooks.settled = on_settled;
	hooks.granted = on_granted;
	hooks.left = on_left;
	r = recipe_open(&o);
	if (r == NULL || !loop_until(base, &settled, 1, 20000))
		bail_out("no member");
	recipe_stats(r, &before);
	for (int i = 0; i < ROUNDS; i++) {
		ns[i] = t_now_ns();
		if (recipe_claim(r, &w, 1, 0, &claim) != 0 ||
		    !loop_until(base, &granted, i + 1, 20000))
			bail_out("not granted");
		claim_leave(claim);
		if (!loop_until(base, &left, i + 1, 20000))
			bail_out("not left");
		ns[i] = t_now_ns() - ns[i];
	}
	recipe_stats(r, &after);
	/* and some, where the watch is late, to see that nothing is left */
	cmp(after.calls - before.calls, <=, 2 * ROUNDS + ROUNDS / 5,
	    "two transactions each");
	say("acquire and release", members, ns, ROUNDS);
	recipe_close(r);
}

int
main(void)
{
	base = event_base_new();
	for (unsigned n = 1; n <= 3; n += 2) {
		struct cluster *c = cluster_start(n, NULL);

		bare(c, n);
		member(c, n);
		cluster_end(c);
	}
	event_base_free(base);
	return done();
}
