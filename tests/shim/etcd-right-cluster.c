/* SPDX-License-Identifier: MIT */
/*
 * The store must be the one that was seen before, and not behind what was seen
 * of it.  Another cluster is refused, and so is one that was restored from a
 * snapshot, for as long as that is so, and for mark.outlive_ms more.
 *
 * Otherwise tokens would begin again at an old revision, and be given twice;
 * and a key would be granted while a right that the store has lost goes on.
 */
#include "shim/support/etcd.h"
#include "shim/support/kv.h"
#include "shim/support/loop.h"
#include "support/support.h"
#include "tap.h"

static struct event_base *base;
static struct cluster *c, *other;
static struct kv_said s;

static void
another(const struct kv_mark *mark)
{
	struct etcd_opts o = { .refused_ms = 200 };
	struct kv_noted n;
	char both[300];

	kv_open(&n, base, cluster_endpoints(other), &o, mark);
	ok(kv_until_state(&n, KV_REFUSED, 5000), "another cluster: %s",
	    n.why);
	ok(strstr(n.why, "another cluster") != NULL, "why");
	ok(!kv_put(&n, "t/a", "x", &s), "nothing can be asked");
	kv_close(&n);
	(void)snprintf(both, sizeof(both), "%s,%s", cluster_endpoints(other),
	    cluster_endpoints(c));
	for (int i = 0; i < 6; i++) {
		kv_open(&n, base, both, &o, mark);
		if (!kv_here(&n, 5000))
			fail("one of two endpoints is of another: %s", n.why);
		kv_close(&n);
	}
	pass("one of two endpoints is of another cluster");
}

static void
behind(struct kv_mark mark)
{
	struct etcd_opts o = { .refused_ms = 200 };
	struct kv_noted n;

	mark.revision += 10;
	kv_open(&n, base, cluster_endpoints(c), &o, &mark);
	ok(kv_until_state(&n, KV_REFUSED, 5000), "behind the mark: %s",
	    n.why);
	for (int i = 0; i < 10; i++)
		(void)cluster_ctl(c, "put x y");
	ok(kv_here(&n, 5000), "until it is not");
	kv_close(&n);
}

/* The wait of a store that was older, and of an engine that hears of it. */
static void
waits(void)
{
	struct etcd_opts o = { .refused_ms = 200 };
	struct kv_noted n;
	unsigned ms = (unsigned)t_ms(3000);
	struct kv_mark mark;
	int64_t from;

	kv_open(&n, base, cluster_endpoints(c), &o, NULL);
	ok(kv_here(&n, 5000), "here");
	n.e->ops->mark(n.e, &mark);
	kv_close(&n);
	mark.revision += 3;
	mark.outlive_ms = ms / 2;
	kv_open(&n, base, cluster_endpoints(c), &o, &mark);
	n.e->ops->outlive(n.e, ms);
	ok(kv_until_state(&n, KV_REFUSED, 5000), "behind the mark: %s",
	    n.why);
	n.e->ops->mark(n.e, &mark);
	is(mark.wait_ms, ms, "it will wait for as long as rights may outlive");
	for (int i = 0; i < 3; i++)
		(void)cluster_ctl(c, "put x y");
	for (int i = 0; i < 50 && strstr(n.why, "before: its") != NULL; i++)
		(void)loop_until(base, &n.states, n.states + 1, 100);
	ok(strstr(n.why, "no key is granted for") != NULL, "then: %s", n.why);
	is(n.state, KV_REFUSED, "it is refused");
	ok(!kv_put(&n, "t/a", "x", &s), "nothing can be asked");
	ok(strstr(n.said, "no key is granted for") != NULL, "advice: %s",
	    n.said);
	n.e->ops->mark(n.e, &mark);
	cmp(mark.left_ms, >, 0, "some of the wait is left");
	cmp(mark.left_ms, <=, ms, "at most all of it");
	kv_close(&n);

	from = t_now_ns();
	kv_open(&n, base, cluster_endpoints(c), &o, &mark);
	ok(kv_here(&n, (int)ms + 10000), "opened with a wait: here");
	cmp(t_now_ns() - from, >=, (int64_t)ms, "after all of it");
	n.e->ops->mark(n.e, &mark);
	is(mark.wait_ms, 0, "the wait is over");
	kv_close(&n);
}

static void
restored(void)
{
	struct etcd_opts o = { .refused_ms = 200 };
	struct kv_noted n;
	char file[128];

	(void)snprintf(file, sizeof(file), "%s/snapshot", cluster_dir());
	kv_open(&n, base, cluster_endpoints(c), &o, NULL);
	ok(kv_here(&n, 5000), "here");
	is(n.e->ops->watch(n.e, kv_text("t/")), 0, "a watch");
	is(cluster_ctl(c, "snapshot save %s", file), 0, "a snapshot");
	for (int i = 0; i < 5; i++)
		ok(kv_put(&n, "t/a", "x", &s) && s.fate == FATE_DONE, "put");
	cluster_restore(c, file);
	ok(kv_until_state(&n, KV_REFUSED, 8000), "restored: %s", n.why);
	ok(strstr(n.why, "older than before") != NULL, "why");
	ok(!kv_put(&n, "t/a", "x", &s), "nothing can be asked");
	kv_close(&n);
}

int
main(void)
{
	struct kv_noted n;
	struct kv_mark mark;

	base = event_base_new();
	c = cluster_start(1, NULL);
	other = cluster_start(1, NULL);
	kv_open(&n, base, cluster_endpoints(c), NULL, NULL);
	ok(kv_here(&n, 5000) && kv_put(&n, "t/a", "1", &s), "put");
	n.e->ops->mark(n.e, &mark);
	is(mark.revision, s.revision, "the mark is what was seen");
	kv_close(&n);
	another(&mark);
	behind(mark);
	waits();
	restored();
	cluster_end(c);
	cluster_end(other);
	event_base_free(base);
	return done();
}
