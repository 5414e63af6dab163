/* SPDX-License-Identifier: MIT */
/*
 * Cluster keys (doc/cluster.md): the same calls work as for other keys.  A key
 * is granted at once, or after a wait; acquired again without a question to the
 * shim; shared under a shared right, and exclusively under an exclusive one.
 * Status and errors say what the scope means.  Local keys are not affected.
 *
 * Otherwise programs would need other code for cluster keys, or would ask the
 * cluster at each acquire.
 */
#include "fence.h"
#include "op/cluster_check.h"
#include "support/actor.h"
#include "support/part.h"
#include "support/shim.h"
#include "support/support.h"
#include "tap.h"

static struct lh *lh;
static struct t_shim *s;

static int
acquire(const char *key, uint32_t mode, int64_t wait_ms, struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(t_long(20000), wait_ms);

	o.mode = mode;
	return lh_acquire(lh, key, &o, l);
}

static void
at_once(void)
{
	struct lh_lease l, m;
	uint64_t first;
	int64_t left;

	is(acquire("cluster:a", LH_EXCLUSIVE, t_long(2000), &l), 0,
	    "granted: %s", lh_error_detail());
	is(s->wants.count, 1, "the shim was asked");
	ok(cluster_revision(l.token) == 101, "token %llx is of the cluster's "
	    "revision", (unsigned long long)l.token);
	left = l.expires_ns - lh_clock_ns(lh);
	ok(left > 0 && left <= s->ttl_ms * T_NS_PER_MS,
	    "it ends with the session in the cluster: in %lld ms",
	    (long long)(left / T_NS_PER_MS));
	is(lh_verify(lh, &l), 0, "it is held");
	is(lh_verify_token(lh, "cluster:a", l.token), 0, "so is its token");
	t_sleep_ms(2 * s->ttl_ms);
	is(lh_verify(lh, &l), 0, "and held on as that goes on");
	is(lh_extend(lh, &l, t_long(5000)), 0, "extended");
	ok(l.expires_ns > lh_clock_ns(lh), "its end has moved on");
	is(acquire("cluster:a", LH_EXCLUSIVE, 0, &m), -EAGAIN,
	    "busy for another one: %s", lh_error_detail());
	is(lh_release(lh, &l), 0, "released");
	is(lh_release(lh, &l), 0, "twice is no harm");
	first = l.token;
	for (int i = 0; i < 100; i++) {
		if (acquire("cluster:a", LH_EXCLUSIVE, 0, &l) != 0 ||
		    l.token <= first || lh_verify(lh, &l) != 0)
			break;
		first = l.token;
		if (lh_release(lh, &l) != 0 || i == 99)
			first = 0;
	}
	is(first, 0, "again and again, tokens rise");
	is(s->wants.count + s->tries.count, 1, "without the shim");
}

static void
opened(void)
{
	struct lh_key *k;
	struct lh_lease l;
	uint64_t last = 0;
	int i;

	is(lh_key_open(lh, "cluster:o", 0, &k), 0, "opened");
	for (i = 0; i < 2000; i++) {
		if (lh_key_acquire(k, NULL, &l) != 0 || l.token <= last ||
		    l.expires_ns > lh_clock_ns(lh) + s->ttl_ms * T_NS_PER_MS)
			break;
		last = l.token;
		if (lh_release(lh, &l) != 0)
			break;
	}
	is(i, 2000, "acquired and released 2,000 times: %s",
	    lh_error_detail());
	t_shim_recall(s);
	is(lh_key_acquire(k, NULL, &l), 0, "and when it has to be asked for");
	ok(l.token > last, "with a larger token");
	is(lh_verify(lh, &l), 0, "held");
	is(lh_release(lh, &l), 0, "released");
	is(lh_key_close(k), 0, "closed");
}

static void
readers(void)
{
	struct lh_lease r1, r2, w;

	is(acquire("cluster:r", LH_SHARED, t_long(2000), &r1), 0,
	    "a reader: %s", lh_error_detail());
	is(acquire("cluster:r", LH_SHARED, t_long(2000), &r2), 0,
	    "another one");
	ok(lh_verify(lh, &r1) == 0 && lh_verify(lh, &r2) == 0, "both hold it");
	is(lh_convert(lh, &r1, LH_EXCLUSIVE), -EAGAIN, "no upgrade beside "
	    "readers of other hosts: %s", lh_error_detail());
	is(lh_verify(lh, &r1), 0, "it stays as it is");
	is(lh_extend(lh, &r1, t_long(5000)), 0, "and can be extended");
	is(lh_release(lh, &r1), 0, "released");
	is(lh_release(lh, &r2), 0, "both");
	is(acquire("cluster:r", LH_EXCLUSIVE, t_long(2000), &w), 0, "a writer, "
	    "for whom the right has to change: %s", lh_error_detail());
	ok(w.token > r1.token && w.token > r2.token, "with a larger token");
	is(lh_convert(lh, &w, LH_SHARED), 0, "downgraded: %s",
	    lh_error_detail());
	is(lh_verify(lh, &w), 0, "held");
	is(lh_convert(lh, &w, LH_EXCLUSIVE), 0, "and back, as the host has it "
	    "for itself");
	is(lh_release(lh, &w), 0, "released");
}

static void
queued(void)
{
	struct t_actor *a = t_actor(s->table), *b = t_actor(s->table);
	struct lh_lease l;

	s->says = SHIM_QUEUES;
	a->opts = b->opts = t_opts(t_long(20000), t_long(8000));
	snprintf(a->key, sizeof(a->key), "cluster:q");
	snprintf(b->key, sizeof(b->key), "cluster:q");
	t_begin_acquire(a, "cluster:q", t_long(20000), t_long(8000));
	ok(t_await_waiters(lh, "cluster:q", 1), "it waits in the table");
	t_begin_acquire(b, "cluster:q", t_long(20000), t_long(8000));
	ok(t_await_waiters(lh, "cluster:q", 2), "and another one behind it");
	is(acquire("cluster:q", LH_EXCLUSIVE, t_long(50), &l), -ETIMEDOUT,
	    "a third has no time: %s", lh_error_detail());
	ok(strstr(lh_error_detail(), "host b") != NULL,
	    "the error names the host that has it");
	s->allowed++;
	is(t_result(a), 0, "the first is granted: %s", a->detail);
	ok(!t_answered(b), "the second waits on");
	is(t_do_release(a), 0, "released");
	is(t_result(b), 0, "and then the second: %s", b->detail);
	ok(b->lease.token > a->lease.token, "with a larger token");
	is(t_do_release(b), 0, "released");
	s->says = SHIM_GRANTS;
	t_actor_end(a);
	t_actor_end(b);
}

static void
scopes(void)
{
	struct lh_acquire_opts o = t_opts(t_long(20000), 0);
	struct lh_lease l;

	o.scope = LH_QUORUM;
	is(lh_acquire(lh, "cluster:s", &o, &l), 0, "scope quorum: %s",
	    lh_error_detail());
	is(lh_release(lh, &l), 0, "released");
	is(lh_acquire(lh, "local", &o, &l), -EOPNOTSUPP, "not of a local key: "
	    "%s", lh_error_detail());
	is(t_holders(lh, "local"), -ENOENT, "which is not even made");
}

/* Scope local for all of an attachment means its host's keys. */
static void
all_local(const char *table)
{
	struct lh_open_opts o = fence_opts();
	struct lh_lease l;
	struct lh *all;

	o.flags |= LH_ALL_LOCAL;
	is(lh_open(&all, table, &o), 0, "all local");
	for (int i = 0; i < 3; i++) {
		is(lh_acquire(all, "cluster:all", NULL, &l), 0,
		    "a cluster's key all the same: %s", lh_error_detail());
		ok(token_cluster(l.token), "with a token of the cluster");
		is(lh_release(all, &l), 0, "released");
	}
	t_close(all);
}

static void
local_keys(void)
{
	uint32_t asked = s->wants.count + s->tries.count;
	struct lh_lease l;

	t_shim_kill(s);
	is(lh_acquire(lh, "plain", NULL, &l), 0, "a local key without a shim");
	is(lh_verify(lh, &l), 0, "held");
	ok(!token_cluster(l.token), "with a token of the table's");
	is(lh_release(lh, &l), 0, "released");
	is(s->wants.count + s->tries.count, asked, "nobody was asked");
}

static void
play(void)
{
	const char *table = t_table();

	lh = fence_open(table);
	s = t_shim(table);
	at_once();
	opened();
	readers();
	queued();
	scopes();
	all_local(table);
	local_keys();
	t_close(lh);
}

int
main(void)
{
	t_part(play, 600, "cluster acquire");
	return done();
}
