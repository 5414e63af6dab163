/* SPDX-License-Identifier: MIT */
/* test: slow 14 */
/*
 * Three members of a real etcd: when one is killed or stopped, the leader above
 * all, calls under way are done or unknown, and soon another member answers.
 *
 * Otherwise the loss of one member would stop all hosts.
 */
#include "shim/support/etcd.h"
#include "shim/support/kv.h"
#include "shim/support/loop.h"
#include "support/support.h"
#include "tap.h"

static struct event_base *base;
static struct cluster *c;
static struct kv_noted n;
static struct kv_said s;

/* Puts, one after another, until one is done; how long that took. */
static int64_t
until_done(const char *what)
{
	struct kv_op put = { .what = KV_PUT, .range = kv_key("t/a"),
	    .value = kv_text("x") };
	struct kv_txn t = { .then = &put, .n_then = 1 };
	int64_t begun = t_now_ns();
	int unknown = 0, refused = 0, away = 0;

	for (;;) {
		if (!kv_txn(&n, &t, 300, &s)) {
			away++;
			loop_rest(base, 10);
		} else if (s.fate == FATE_DONE) {
			break;
		} else if (s.fate == FATE_UNKNOWN) {
			unknown++;
		} else {
			refused++;
			loop_rest(base, 10);
		}
		if (t_since_ms(begun) > t_ms(15000)) {
			fail("%s: nothing is done any more: %s", what, s.why);
			return -1;
		}
	}
	diag("%s: %d ms (%d unknown, %d not applied, %d times away)", what,
	    (int)t_since_ms(begun), unknown, refused, away);
	return t_since_ms(begun);
}

static void
each_dies(bool stop)
{
	const char *how = stop ? "stopped" : "killed";
	char what[64];

	for (unsigned i = 0; i < 3; i++) {
		(void)snprintf(what, sizeof(what), "member %u %s%s", i, how,
		    cluster_leader(c) == i ? ", the leader" : "");
		if (stop)
			cluster_stop(c, i);
		else
			cluster_kill(c, i);
		ok(until_done(what) >= 0, "%s: it goes on", what);
		if (stop)
			cluster_cont(c, i);
		else
			cluster_again(c, i);
		(void)cluster_leader(c);
		ok(until_done("and is back") >= 0, "and when it is back");
	}
}

static void
leader_dies(bool stop)
{
	int64_t before = s.revision;
	unsigned leader = cluster_leader(c);

	if (stop)
		cluster_stop(c, leader);
	else
		cluster_kill(c, leader);
	ok(until_done(stop ? "the leader stopped" : "the leader killed") >= 0,
	    "another leads");
	ok(s.revision > before, "what was done stays done");
	if (stop)
		cluster_cont(c, leader);
	else
		cluster_again(c, leader);
}

static void
no_quorum(void)
{
	unsigned leader = cluster_leader(c), other = (leader + 1) % 3;
	struct kv_op put = { .what = KV_PUT, .range = kv_key("t/a"),
	    .value = kv_text("x") };
	struct kv_txn t = { .then = &put, .n_then = 1 };

	cluster_kill(c, leader);
	cluster_kill(c, other);
	for (int i = 0; i < 500 && n.state != KV_AWAY; i++) {
		(void)kv_txn(&n, &t, 1000, &s);
		loop_rest(base, 10);
	}
	is(n.state, KV_AWAY, "without a quorum it is away: %s", n.why);
	ok(!kv_put(&n, "t/a", "y", &s), "nothing can be asked");
}

int
main(void)
{
	base = event_base_new();
	c = cluster_start(3, NULL);
	kv_open(&n, base, cluster_endpoints(c), NULL, NULL);
	ok(kv_here(&n, 5000), "it is here");
	is(n.e->ops->watch(n.e, kv_text("t/")), 0, "a watch");
	ok(until_done("at first") >= 0, "put");
	leader_dies(false);
	leader_dies(true);
	each_dies(false);
	each_dies(true);
	ok(loop_until(base, &n.looks, 2, 5000),
	    "the watch began anew: %d times", n.looks);
	no_quorum();
	kv_close(&n);
	cluster_end(c);
	event_base_free(base);
	return done();
}
