/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G6 and G7: the key of a reader in scope local must go to another
 * range, which cannot happen while others read.  The reader waits like a
 * writer, for which the present readers come to an end.
 *
 * Otherwise it would wait for ever: nobody ends idle readers for a reader, and
 * readers that overlap never free the key.
 */
#include <pthread.h>
#include <stdatomic.h>
#include "fence.h"

#define READERS 3

static const char *table;
static struct lh *lh;
static atomic_int stop, entered;

static struct lh_acquire_opts
reader(int64_t wait_ms)
{
	struct lh_acquire_opts o = t_opts(3600000, wait_ms);

	o.mode = LH_SHARED;
	return o;
}

/* In scope local, by another attachment, in the range that is next. */
static void
local_reader(const char *what, int64_t wait_ms, int exclusive_first)
{
	struct lh_acquire_opts o = reader(wait_ms);
	uint64_t latest, token;
	struct lh_lease l;
	struct lh *x;

	latest = fence_gap(table, 20);
	x = fence_open(table);
	if (exclusive_first)
		is(fence_token(x, "other", LH_LOCAL, &token), 0, "another key");
	o.scope = LH_LOCAL;
	is(lh_acquire(x, "k", &o, &l), 0, "%s: let in", what);
	is_u64(l.token >> 32, latest, "%s: in the latest range", what);
	is(lh_release(x, &l), 0, "released");
	is(lh_close(x), 0, "closed");
}

/* Two overlapped, and both have gone: their claims are idle. */
static void
idle_ones(void)
{
	struct lh_acquire_opts o = reader(0);
	struct lh_lease a, b;

	is(lh_acquire(lh, "k", &o, &a), 0, "a reader");
	is(lh_acquire(lh, "k", &o, &b), 0, "another beside it");
	is(lh_release(lh, &a), 0, "one goes");
	is(lh_acquire(lh, "k", &o, &a), 0, "and comes back");
	is(lh_release(lh, &b), 0, "the other goes");
	is(lh_release(lh, &a), 0, "and the one");
}

static void *
read_on(void *arg)
{
	struct lh_acquire_opts o = reader(t_ms(1000));
	struct lh_lease l;

	t_sleep_ms((int)(intptr_t)arg * 10);
	while (!atomic_load(&stop)) {
		if (lh_acquire(lh, "k", &o, &l) != 0)
			continue;
		atomic_fetch_add(&entered, 1);
		t_sleep_ms(30);
		(void)lh_release(lh, &l);
	}
	return NULL;
}

static void
overlapping_ones(void)
{
	pthread_t t[READERS];

	for (int i = 0; i < READERS; i++) {
		if (pthread_create(&t[i], NULL, read_on,
		    (void *)(intptr_t)i) != 0)
			bail_out("pthread_create");
	}
	ok(t_until(T_HANG_MS, atomic_load(&entered) > 2 * READERS),
	    "readers overlap");
	local_reader("overlapping readers", t_ms(3000), 1);
	atomic_store(&entered, 0);
	ok(t_until(T_HANG_MS, atomic_load(&entered) > READERS),
	    "they go on after it");
	atomic_store(&stop, 1);
	for (int i = 0; i < READERS; i++)
		pthread_join(t[i], NULL);
}

int
main(void)
{
	table = t_table();
	lh = fence_open(table);
	idle_ones();
	local_reader("idle readers, waiting", t_ms(1000), 0);
	idle_ones();
	local_reader("idle readers, a try", 0, 0);
	overlapping_ones();
	t_close(lh);
	return done();
}
