/* SPDX-License-Identifier: MIT */
/*
 * The watch misses nothing without saying so: not when the past is compacted,
 * nor over reconnections, nor under load; and it reports nothing twice.
 *
 * Otherwise a host would wait for a key that is free, or keep one that others
 * want.
 */
#include "shim/support/etcd.h"
#include "shim/support/kv.h"
#include "shim/support/loop.h"
#include "tap.h"

static struct event_base *base;
static struct cluster *c;
static struct kv_noted n;
static struct kv_said s;

static void
compacted(void)
{
	int looks = n.looks;

	for (int i = 0; i < 20; i++)
		(void)kv_put(&n, "t/a", "x", &s);
	ok(loop_until(base, &n.changes, 20, 5000), "changes");
	is(cluster_ctl(c, "compact %lld", (long long)s.revision), 0,
	    "compacted");
	ok(kv_put(&n, "t/a", "y", &s) && loop_until(base, &n.changes, 21,
	    3000), "the watch goes on");
	is(n.looks, looks, "nothing was missed");
}

/* Compacted away while we were not there. */
static void
compacted_meanwhile(void)
{
	int looks = n.looks, changes;

	cluster_kill(c, 0);
	ok(kv_until_state(&n, KV_AWAY, 3000), "away");
	cluster_again(c, 0);
	for (int i = 0; i < 10; i++)
		(void)cluster_ctl(c, "put t/a z%d", i);
	(void)cluster_ctl(c, "compact %lld", (long long)s.revision + 10);
	ok(kv_here(&n, 8000) && loop_until(base, &n.looks, looks + 1, 3000),
	    "it is back, and has missed something");
	loop_rest(base, 100);
	changes = n.changes;
	ok(kv_put(&n, "t/a", "y", &s) && loop_until(base, &n.changes,
	    changes + 1, 3000), "the watch goes on");
	is(n.last_revision, s.revision, "with what is new");
}

static void
many(void)
{
	static struct kv_said said[2000];
	struct kv_op put = { .what = KV_PUT, .range = kv_key("t/m"),
	    .value = kv_text("x") };
	struct kv_txn t = { .then = &put, .n_then = 1 };
	int changes = n.changes, all = 0;

	for (int i = 0; i < 2000; i++)
		if (n.e->ops->txn(n.e, &t, 20000, kv_note, &said[i]) != 0)
			bail_out("cannot ask");
	for (int i = 0; i < 2000; i++)
		all += loop_until(base, &said[i].ended, 1, 20000) &&
		    said[i].fate == FATE_DONE;
	is(all, 2000, "two thousand at once are done");
	ok(loop_until(base, &n.changes, changes + 2000, 5000),
	    "the watch reports each");
	loop_rest(base, 50);
	is(n.changes, changes + 2000, "once");
}

int
main(void)
{
	base = event_base_new();
	c = cluster_start(1, NULL);
	kv_open(&n, base, cluster_endpoints(c), NULL, NULL);
	ok(n.e->ops->watch(n.e, kv_text("t/")) == 0 && kv_here(&n, 5000) &&
	    loop_until(base, &n.looks, 1, 3000), "a watch");
	compacted();
	many();
	compacted_meanwhile();
	kv_close(&n);
	cluster_end(c);
	event_base_free(base);
	return done();
}
