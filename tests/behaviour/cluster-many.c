/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: several keys, some of the cluster and some of this host, are
 * acquired in one call.  The rights to all cluster keys are requested in one
 * question, before anything is held; all or none are granted, and the loss of
 * one is the loss of all.
 *
 * Otherwise the call would hold some keys while it waits for the cluster, or
 * keep half a set.
 */
#include <errno.h>
#include "op/cluster_check.h"
#include "support/actor.h"
#include "support/part.h"
#include "support/shim.h"
#include "support/support.h"
#include "tap.h"

#define N 6

static struct lh *lh;
static struct t_shim *s;

static const struct lh_item items[N] = {
	{ "b local", LH_EXCLUSIVE, 0 }, { "cluster:m2", LH_SHARED, 0 },
	{ "cluster:m1", LH_EXCLUSIVE, 0 }, { "a local", LH_SHARED, 0 },
	{ "cluster:m3", LH_EXCLUSIVE, 0 }, { "z local", LH_EXCLUSIVE, 0 },
};

static int
acquire(int64_t wait_ms, struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(t_long(20000), wait_ms);

	return lh_acquire_many(lh, items, N, &o, l);
}

static int
n_held(void)
{
	int n = 0;

	for (int i = 0; i < N; i++) {
		int h = t_holders(lh, items[i].key);

		n += h > 0 ? h : 0;
	}
	return n;
}

static void
all(void)
{
	struct lh_lease l[N];
	int held = 0, good = 0;

	is(acquire(t_long(5000), l), 0, "all keys are acquired: %s",
	    lh_error_detail());
	is(s->wants.count, 1, "with one question");
	is(s->keys, 3, "for three rights");
	for (int i = 0; i < N; i++) {
		held += lh_verify(lh, &l[i]) == 0;
		good += token_cluster(l[i].token) ==
		    (items[i].key[0] == 'c');
	}
	is(held, N, "all are held");
	is(good, N, "tokens are the cluster's, or the table's");
	is(lh_release_many(lh, l, N), 0, "released");
	is(acquire(0, l), 0, "and again, at once");
	is(s->wants.count + s->tries.count, 1, "without a question");
	is(lh_release_many(lh, l, N), 0, "released");
}

static void
rolled_back(void)
{
	struct t_actor *a = t_actor(s->table);
	struct lh_lease l[N];

	is(t_do_acquire(a, "z local", t_long(60000), 0), 0,
	    "the last is somebody's");
	is(acquire(0, l), -EAGAIN, "a try: busy: %s", lh_error_detail());
	is(n_held(), 1, "nothing else is held");
	is(acquire(t_long(100), l), -ETIMEDOUT, "a wait: timed out: %s",
	    lh_error_detail());
	is(n_held(), 1, "nothing else is held");
	is(t_do_release(a), 0, "released");
	t_shim_recall(s);
	s->says = SHIM_AWAY;
	is(acquire(t_long(5000), l), -EHOSTUNREACH, "no cluster: %s",
	    lh_error_detail());
	is(n_held(), 0, "nothing is held");
	s->says = SHIM_BUSY;
	is(acquire(0, l), -EAGAIN, "another host has one: %s",
	    lh_error_detail());
	is(n_held(), 0, "nothing is held");
	s->says = SHIM_LIES;
	is(acquire(t_long(300), l), -ETIMEDOUT, "promised, and not given: %s",
	    lh_error_detail());
	is(n_held(), 0, "nothing is held");
	s->says = SHIM_GRANTS;
	t_actor_end(a);
}

static int
acquire_all(struct t_actor *a, void *arg)
{
	struct lh_acquire_opts o = t_opts(t_long(300), t_long(20000));
	struct lh_lease l[N];
	int error = lh_acquire_many(a->lh, items, N, &o, l);

	(void)arg;
	return error != 0 ? error : lh_release_many(a->lh, l, N);
}

static void
while_waiting(void)
{
	struct t_actor *a = t_actor(s->table), *b = t_actor(s->table);

	is(t_do_acquire(b, "z local", t_long(60000), 0), 0,
	    "the last is somebody's");
	t_begin(a, acquire_all, NULL);
	ok(t_await_waiters(lh, "z local", 1), "it has the others, and waits");
	t_sleep_ms(t_long(700));
	is(t_holders(lh, "cluster:m1"), 1, "which are renewed meanwhile");
	t_shim_lose(s);
	ok(t_until(T_HANG_MS, t_holders(lh, "cluster:m1") == 0 &&
	    t_holders(lh, "a local") <= 0) || t_answered(a),
	    "the session is lost: all are given back");
	t_shim_kill(s);
	is(t_do_release(b), 0, "the last one is free");
	is(t_result(a), -EHOSTUNREACH, "there is no cluster: %s", a->detail);
	s->beats = 1;
	t_shim_start(s);
	is(n_held(), 0, "nothing is held");
	t_actor_end(a);
	t_actor_end(b);
}

static void
scope(void)
{
	struct lh_acquire_opts o = t_opts(t_long(20000), 0);
	struct lh_lease l[N];

	o.scope = LH_QUORUM;
	is(lh_acquire_many(lh, items, N, &o, l), -EOPNOTSUPP,
	    "scope quorum is not for all of them: %s", lh_error_detail());
	is(lh_acquire_many(lh, items + 1, 2, &o, l), 0, "but for these: %s",
	    lh_error_detail());
	is(lh_release_many(lh, l, 2), 0, "released");
}

static void
play(void)
{
	const char *table = t_table();

	lh = t_open(table);
	s = t_shim(table);
	all();
	rolled_back();
	while_waiting();
	scope();
	t_close(lh);
}

int
main(void)
{
	t_part(play, 200, "cluster many");
	return done();
}
