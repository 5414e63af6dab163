/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G6: a thousand threads read one key at once, then all
 * release, and a waiting writer acquires it.  Then one thread holds five
 * thousand shared leases of one key and releases them in any order; the key is
 * free for a writer, alone and with a writer waiting.  The time that it took is
 * printed.
 *
 * Otherwise a crowd of readers would keep a writer out for ever.
 */
#include <errno.h>
#include "readers.h"

#define THREADS	1000
#define LEASES	5000

static struct lh *lh;
static struct t_event ready, go;
static _Atomic int failures;

static void *
read_it(void *arg)
{
	struct lh_lease l;

	(void)arg;
	if (t_read(lh, "k", HOUR_MS, T_HANG_MS, &l) != 0)
		failures++;
	t_post(&ready);
	t_await(&go, 1, 6 * T_HANG_MS);
	if (lh_verify(lh, &l) != 0 || lh_release(lh, &l) != 0)
		failures++;
	return NULL;
}

static void
threads(struct t_actor *w)
{
	int n = t_count(THREADS, 100);
	unsigned long *all = calloc((size_t)n, sizeof(*all));
	int64_t ns = t_now_ns();

	for (int i = 0; i < n; i++)
		all[i] = t_thread(read_it, NULL);
	ok(t_await(&ready, (uint32_t)n, 3 * T_HANG_MS), "%d threads read", n);
	diag("%d threads are in after %lld ms", n,
	    (long long)t_since_ms(ns));
	ns = t_now_ns();
	is(t_holders(lh, "k"), n, "as status says");
	diag("which took %lld us", (long long)(t_now_ns() - ns) / 1000);
	t_queue(lh, w, LH_EXCLUSIVE, 0, 1);
	ns = t_now_ns();
	t_post(&go);
	for (int i = 0; i < n; i++)
		t_join(all[i]);
	is(failures, 0, "each held and released it");
	is(t_result(w), 0, "the writer gets it");
	diag("%lld ms after they began to release",
	    (long long)t_after_ms(w, ns));
	is(t_holders(lh, "k"), 1, "alone");
	is(t_do_release(w), 0, "and releases");
	free(all);
}

static void
one_thread(struct t_actor *w)
{
	int n = t_count(LEASES, 300), held = 0, good = 0, released = 0, last;
	struct lh_lease *l = calloc((size_t)n, sizeof(*l));
	int64_t ns = t_now_ns();
	unsigned seed = 7;

	for (int i = 0; i < n; i++)
		held += t_read(lh, "many", HOUR_MS, 0, &l[i]) == 0;
	is(held, n, "one thread holds %d", n);
	diag("%lld ns each", (long long)(t_now_ns() - ns) / n);
	is(t_holders(lh, "many"), n, "as status says");
	for (int i = 0; i < n; i++)
		good += lh_verify(lh, &l[i]) == 0;
	is(good, n, "each is good");
	for (int i = n - 1; i > 0; i--) {
		int j = rand_r(&seed) % (i + 1);
		struct lh_lease t = l[i];

		l[i] = l[j];
		l[j] = t;
	}
	if (w != NULL) {
		struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);

		t_begin_acquire_opts(w, "many", &o);
		ok(t_await_waiters(lh, "many", 1), "a writer waits");
	}
	ns = t_now_ns();
	for (last = 0; last < n - 1; last++)
		released += lh_release(lh, &l[last]) == 0;
	diag("%lld ns a release", (long long)(t_now_ns() - ns) / n);
	is(t_holders(lh, "many"), 1, "all but one released");
	is(t_try(lh, "many", LH_EXCLUSIVE, 1), -EAGAIN, "which counts");
	is(lh_verify(lh, &l[last]), 0, "and is good");
	released += lh_release(lh, &l[last]) == 0;
	is(released, n, "all released");
	ns = t_now_ns();
	if (w != NULL) {
		is(t_result(w), 0, "the writer gets it");
		is(t_do_release(w), 0, "and releases");
	} else {
		is(t_try(lh, "many", LH_EXCLUSIVE, 0), 0, "free to write");
	}
	diag("a writer after %lld us", (long long)(t_now_ns() - ns) / 1000);
	is(t_holders(lh, "many"), 0, "it is free");
	free(l);
}

int
main(void)
{
	struct lh_open_opts o = t_open_opts();
	const char *table = t_table();
	struct t_actor *w;

	o.max_leases = 65536;
	is(lh_open(&lh, table, &o), 0, "a table");
	w = t_actor(table);
	threads(w);
	one_thread(NULL);
	one_thread(w);
	one_thread(NULL);
	t_actor_end(w);
	t_close(lh);
	return done();
}
