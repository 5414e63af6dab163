/* SPDX-License-Identifier: MIT */
/*
 * One real etcd: transactions, leases and the watch behave as engine.h says;
 * and etcd may go away and come back.
 *
 * Otherwise the fake store of the other tests would prove nothing about etcd.
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
transactions(void)
{
	struct kv_compare absent = { kv_key("t/a"), KV_CREATE, KV_EQUAL, 0 };
	struct kv_op put = { .what = KV_PUT, .range = kv_key("t/a"),
	    .value = kv_text("1") };
	struct kv_op get = { .what = KV_GET, .range = kv_key("t/a") };
	struct kv_op del = { .what = KV_DELETE, .range = kv_key("t/a") };
	struct kv_op both[2] = { put, get };
	struct kv_txn t = { &absent, 1, &put, &get, 1, 1 };
	int64_t first;

	ok(kv_txn(&n, &t, KV_MS, &s) && s.fate == FATE_DONE && s.succeeded,
	    "what is not there has create revision 0, on the wire too");
	first = s.revision;
	ok(kv_txn(&n, &t, KV_MS, &s) && s.fate == FATE_DONE && !s.succeeded,
	    "and then it is there");
	ok(s.n_pairs == 1 && s.create_revision == first &&
	    s.mod_revision == first && s.version == 1,
	    "with its revisions");
	is_str(s.value, "1", "and its value");
	t = (struct kv_txn){ NULL, 0, both, NULL, 2, 0 };
	ok(kv_txn(&n, &t, KV_MS, &s) && s.n_results == 2 && s.revision >
	    first, "revisions grow");
	t = (struct kv_txn){ NULL, 0, &del, NULL, 1, 0 };
	ok(kv_txn(&n, &t, KV_MS, &s) && s.count == 1, "one is deleted");
	ok(kv_txn(&n, &t, KV_MS, &s) && s.count == 0, "then none");
	t = (struct kv_txn){ NULL, 0, NULL, NULL, 0, 0 };
	ok(kv_txn(&n, &t, KV_MS, &s) && s.fate == FATE_DONE &&
	    s.n_results == 0, "nothing may be asked for");
}

static void
ranges(void)
{
	struct kv_range all = { kv_text("t/q/"), kv_text("t/q0") };
	struct kv_compare none_before = { all, KV_CREATE, KV_GREATER, 0 };
	struct kv_op get = { .what = KV_GET, .range = all, .limit = 2,
	    .by_create = true };
	struct kv_txn t = { &none_before, 1, &get, &get, 1, 1 };
	int64_t first;

	ok(kv_put(&n, "t/q/z", "first", &s), "put");
	first = s.revision;
	ok(kv_put(&n, "t/q/a", "second", &s) && kv_put(&n, "t/q/b", "third",
	    &s), "put");
	ok(kv_txn(&n, &t, KV_MS, &s) && s.succeeded, "a range compare");
	ok(s.n_pairs == 2 && s.count == 3, "two of three");
	is_str(s.value, "first", "the oldest first");
	none_before.number = first;
	ok(kv_txn(&n, &t, KV_MS, &s) && !s.succeeded,
	    "a compare of each key in the range");
	get.by_create = false;
	ok(kv_txn(&n, &t, KV_MS, &s) && strcmp(s.value, "second") == 0,
	    "or by key");
	get.keys_only = true;
	ok(kv_txn(&n, &t, KV_MS, &s) && s.value[0] == '\0' && s.n_pairs == 2,
	    "or keys only");
}

static void
most(void)
{
	static char keys[KV_OPS_MAX + 1][16];
	struct kv_compare compares[KV_OPS_MAX + 1];
	struct kv_op ops[KV_OPS_MAX + 1];
	struct kv_txn t = { compares, KV_OPS_MAX, ops, ops, KV_OPS_MAX,
	    KV_OPS_MAX };

	for (int i = 0; i <= KV_OPS_MAX; i++) {
		(void)snprintf(keys[i], sizeof(keys[i]), "t/m/%d", i);
		compares[i] = (struct kv_compare){ kv_key(keys[i]), KV_CREATE,
		    KV_EQUAL, 0 };
		ops[i] = (struct kv_op){ .what = KV_PUT,
		    .range = kv_key(keys[i]), .value = kv_text("x") };
	}
	ok(kv_txn(&n, &t, KV_MS, &s) && s.succeeded &&
	    s.n_results == KV_OPS_MAX, "as much as there may be in one");
	t.n_then++;
	ok(!kv_txn(&n, &t, KV_MS, &s), "one more cannot be asked");
}

static void
leases(void)
{
	int64_t lease;
	struct kv_op put = { .what = KV_PUT, .range = kv_key("t/l"),
	    .value = kv_text("1") };
	struct kv_txn t = { .then = &put, .n_then = 1 };

	ok(kv_grant(&n, 0, INT64_C(3155760000), &s) && s.fate == FATE_DONE &&
	    s.lease != 0, "a lease of a hundred years");
	lease = put.lease = s.lease;
	ok(kv_grant(&n, lease, INT64_C(3155760000), &s) &&
	    s.fate == FATE_NOT_APPLIED && s.exists && !s.denied,
	    "no other with its id: %s", s.why);
	ok(kv_grant(&n, INT64_MAX, INT64_C(3155760000), &s) &&
	    s.fate == FATE_DONE && s.lease == INT64_MAX,
	    "one with an id of our own");
	ok(kv_revoke(&n, INT64_MAX, &s) && s.fate == FATE_DONE, "revoked");
	ok(kv_grant(&n, INT64_MAX, 60, &s) && s.fate == FATE_DONE &&
	    kv_revoke(&n, INT64_MAX, &s), "which may be used again");
	ok(kv_txn(&n, &t, KV_MS, &s) && s.fate == FATE_DONE, "a key under it");
	ok(kv_revoke(&n, lease, &s) && s.fate == FATE_DONE && !s.absent,
	    "revoked");
	ok(kv_get(&n, "t/l", &s) && s.n_pairs == 0, "the key has gone too");
	ok(kv_revoke(&n, lease, &s) && s.fate == FATE_NOT_APPLIED && s.absent,
	    "a second time: %s", s.why);
	ok(kv_txn(&n, &t, KV_MS, &s) && s.fate == FATE_NOT_APPLIED &&
	    !s.denied, "nothing is put under it: %s", s.why);
}

static void
watching(void)
{
	is(n.e->ops->watch(n.e, kv_text("t/w/")), 0, "a watch");
	ok(loop_until(base, &n.looks, 1, 3000), "it begins: look");
	ok(kv_put(&n, "t/w/a", "1", &s), "put");
	ok(loop_until(base, &n.changes, 1, 3000), "the watch reports it");
	is_str(n.last, "t/w/a", "which");
	ok(n.last_revision >= s.revision && !n.last_deleted, "when");
	ok(kv_put(&n, "t/x", "1", &s) && kv_put(&n, "t/w/b", "2", &s), "put");
	ok(loop_until(base, &n.changes, 2, 3000), "the watch reports it");
	is_str(n.last, "t/w/b", "what is under the prefix alone");
	is(cluster_ctl(c, "del t/w/b"), 0, "delete");
	ok(loop_until(base, &n.changes, 3, 3000) && n.last_deleted, "told");
	is(n.looks, 1, "nothing was missed");
}

static void
away_and_back(void)
{
	struct kv_mark before, after;
	int changes = n.changes;

	n.e->ops->mark(n.e, &before);
	ok(before.cluster != 0 && before.revision > 10, "the mark");
	cluster_kill(c, 0);
	ok(kv_until_state(&n, KV_AWAY, 3000), "killed: %s", n.why);
	ok(!kv_get(&n, "t/a", &s), "nothing can be asked");
	cluster_again(c, 0);
	ok(kv_here(&n, 5000), "it is back");
	ok(loop_until(base, &n.looks, 2, 3000), "look again");
	ok(kv_put(&n, "t/w/c", "3", &s) && loop_until(base, &n.changes,
	    changes + 1, 3000), "the watch goes on");
	n.e->ops->mark(n.e, &after);
	ok(after.cluster == before.cluster && after.revision >
	    before.revision, "the mark grew");
}

static void
stopped(void)
{
	int64_t revision;
	struct kv_op put = { .what = KV_PUT, .range = kv_key("t/late"),
	    .value = kv_text("1") };
	struct kv_txn t = { .then = &put, .n_then = 1 };

	ok(kv_get(&n, "t/late", &s), "get");
	revision = s.revision;
	cluster_stop(c, 0);
	ok(kv_txn(&n, &t, 200, &s) && s.fate == FATE_UNKNOWN,
	    "stopped: unknown: %s", s.why);
	cluster_cont(c, 0);
	loop_rest(base, 300);
	ok(kv_here(&n, 5000) && kv_get(&n, "t/late", &s) &&
	    s.revision >= revision, "it goes on: %zu pairs", s.n_pairs);
	cluster_stop(c, 0);
	for (int i = 0; i < 3; i++)
		(void)kv_txn(&n, &t, 200, &s);
	ok(kv_until_state(&n, KV_AWAY, 3000), "stopped for longer: %s",
	    n.why);
	cluster_cont(c, 0);
	ok(kv_here(&n, 5000), "it is back");
}

static struct kv_noted other;
static struct kv_said second;	/* answers may come in any order */
static int closed, told_before;

static void
close_it(const struct kv_answer *a, void *arg)
{
	(void)a;
	(void)arg;
	closed++;
	told_before = second.ended;
	kv_close(&other);
}

static void
closing(void)
{
	struct kv_op get = { .what = KV_GET, .range = kv_key("t/a") };
	struct kv_txn t = { .then = &get, .n_then = 1 };

	kv_open(&other, base, cluster_endpoints(c), NULL, NULL);
	ok(kv_here(&other, 3000), "another engine");
	is(other.e->ops->txn(other.e, &t, KV_MS, close_it, NULL), 0, "asked");
	is(other.e->ops->txn(other.e, &t, KV_MS, kv_note, &second), 0, "asked");
	ok(loop_until(base, &closed, 1, 3000), "closed in an answer");
	loop_rest(base, 50);
	is(second.ended, told_before, "the other is not reported after it");
}

int
main(void)
{
	base = event_base_new();
	c = cluster_start(1, NULL);
	kv_open(&n, base, cluster_endpoints(c), NULL, NULL);
	ok(n.states == 0, "nothing is reported before the loop runs");
	ok(!kv_get(&n, "t/a", &s), "nor can anything be asked");
	ok(kv_here(&n, 5000), "it is here");
	ok(n.says == 0 || strstr(n.said, "3.4.31") != NULL, "said: %s",
	    n.said);
	transactions();
	ranges();
	most();
	leases();
	watching();
	away_and_back();
	stopped();
	closing();
	kv_close(&n);
	cluster_end(c);
	event_base_free(base);
	return done();
}
