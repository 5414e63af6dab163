/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: many keys in one WANT: a try gets all of them or none;
 * lh_acquire_many() holds them together with keys of the host alone.  Hosts
 * that want the same keys in other orders do not wait for each other for ever.
 *
 * Otherwise sets of cluster keys would deadlock between hosts.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "support/asked.h"
#include "support/hosts.h"

#define N 16

static struct host *a = &hosts[0], *b = &hosts[1];
static char names[N][16];

static int
want_all(int fd, unsigned flags, unsigned from, unsigned n)
{
	static struct lhi_frame f;
	int64_t then_ns = t_now_ns();
	int type;

	f = (struct lhi_frame){ .type = FRAME_WANT, .id = 5,
	    .flags = (uint8_t)flags, .n = (uint8_t)n,
	    .wait_ms = FRAME_NO_END };
	for (unsigned i = 0; i < n; i++) {
		f.key[i].mode = LH_EXCLUSIVE;
		f.key[i].len = (uint8_t)strlen(names[from + i]);
		f.key[i].key = names[from + i];
	}
	say(fd, &f);
	type = hear(fd, &f, T_HANG_MS);
	return try_ran_out(type, flags, then_ns) ? want_all(fd, flags, from,
	    n) : type;
}

static unsigned
rights(struct host *h)
{
	unsigned n = 0;

	for (unsigned i = 0; i < N; i++)
		n += host_may(h, names[i], RIGHT_EXCLUSIVE);
	return n;
}

/* Keys that A has and does not use: it stands in their queues for a moment, in
 * which A has to be let run. */
static bool
try_gets(void *fd)
{
	return want_all(*(int *)fd, FRAME_TRY, 4, 4) == FRAME_GRANTED;
}

/* The transactions of host 0 that put claims. */
static _Atomic unsigned claiming;

static enum fake_mishap
count_claims(unsigned host, uint64_t call, void *arg)
{
	/* the session, and then each key; a heartbeat has but the first */
	claiming += host == 0 && asked_to(KV_PUT) && asked->n_compares > 1;
	return FAKE_NONE;
}

static void
do_count(void *arg)
{
	fake_store_mishaps(hosts_store, count_claims, NULL, NULL);
	asked_watch(a->engine);
}

static void *
other_order(void *arg)
{
	static int failures;

	for (int i = 0; i < 20; i++) {
		struct lh_lease l[2];
		struct lh_item k[2] = { { .key = names[1] },
		    { .key = names[0] } };
		struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);

		if (lh_acquire_many(b->lh, k, 2, &o, l) != 0)
			failures++;
		else
			(void)lh_release_many(b->lh, l, 2);
	}
	return &failures;
}

int
main(void)
{
	struct lh_item mixed[3] = { { .key = names[3] }, { .key = "local" },
	    { .key = names[2] } };
	const struct lh_item one[2] = { { .key = "cluster:free" },
	    { .key = "cluster:held" } };
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	struct lh_lease l, m[3];
	unsigned long thread;
	int fd, failures = 0;

	for (unsigned i = 0; i < N; i++)
		(void)snprintf(names[i], sizeof(names[i]), "cluster:m%u", i);
	hosts_begin(2);
	fd = dial(a);
	hosts_do(do_count, NULL);
	is(want_all(fd, FRAME_TRY, 0, N), FRAME_GRANTED, "a try of %d keys", N);
	is(rights(a), N, "all of them are there");
	is(claiming, 1, "by one transaction");
	is(want_all(fd, FRAME_TRY, 0, N), FRAME_GRANTED, "again: they are");

	is(take(b, names[7], RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0,
	    "another host takes one of them");
	is(want_all(fd, FRAME_TRY, 0, N), FRAME_BUSY, "a try: busy");
	ok(t_until(T_HANG_MS, rights(a) == N - 1), "the others are as before");
	is(want_all(fd, 0, 0, N), FRAME_QUEUED, "wanted: one is waited for");
	is(lh_release(b->lh, &l), 0, "released there");
	ok(t_until(T_HANG_MS, rights(a) == N), "all are here");
	(void)close(fd);

	fd = dial(b);
	ok(t_tries(3, try_gets, &fd),
	    "a try of the other host: nobody uses them, so it gets them");
	is(rights(a), N - 4, "they went there");
	(void)close(fd);

	is(lh_acquire_many(a->lh, mixed, 3, &o, m), 0,
	    "keys of the cluster and of the host, together");
	ok(m[0].token > CLUSTER_FIRST && m[1].token < CLUSTER_FIRST &&
	    m[2].token > CLUSTER_FIRST, "each with its own kind of token");
	is(lh_release_many(a->lh, m, 3), 0, "released");

	is(take(b, one[1].key, RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0,
	    "another host has one of two");
	o.max_wait_ms = 0;
	is(lh_acquire_many(a->lh, one, 2, &o, m), -EAGAIN, "a try of both");
	ok(strstr(lh_error_detail(), one[1].key) != NULL &&
	    strstr(lh_error_detail(), one[0].key) == NULL,
	    "says which of them is busy: %s", lh_error_detail());
	o.max_wait_ms = T_HANG_MS;
	is(lh_release(b->lh, &l), 0, "released");

	thread = t_thread(other_order, NULL);
	for (int i = 0; i < 20; i++) {
		struct lh_item k[2] = { { .key = names[0] },
		    { .key = names[1] } };

		if (lh_acquire_many(a->lh, k, 2, &o, m) != 0)
			failures++;
		else
			(void)lh_release_many(a->lh, m, 2);
	}
	failures += *(int *)t_join(thread);
	is(failures, 0, "two hosts take two keys in opposite orders");
	hosts_end();
	return done();
}
