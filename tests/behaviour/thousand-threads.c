/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G2 and G6: a thousand threads of one process first hold a key
 * of their own each; then all wait for one key, which passes through all of
 * them, one at a time, with growing tokens.
 *
 * Otherwise a large program would lose a wake-up, and a thread would wait for
 * ever.
 */
#include <errno.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define THREADS 1000

static struct lh *lh;
static struct t_event ready, go;
static _Atomic int inside, overlaps, failures, wrong_tokens;
static _Atomic uint64_t last;

static void *
own_key(void *arg)
{
	struct lh_lease l;
	char name[32];

	snprintf(name, sizeof(name), "key-%d", (int)(intptr_t)arg);
	if (t_acquire(lh, name, 3600000, 0, &l) != 0)
		failures++;
	t_post(&ready);
	t_await(&go, 1, 6 * T_HANG_MS);
	if (lh_verify(lh, &l) != 0 || lh_release(lh, &l) != 0)
		failures++;
	return NULL;
}

static void *
one_key(void *arg)
{
	struct lh_lease l;

	(void)arg;
	if (t_acquire(lh, "k", 3600000, 3600000, &l) != 0) {
		failures++;
		return NULL;
	}
	if (atomic_fetch_add(&inside, 1) != 0)
		overlaps++;
	if (atomic_exchange(&last, l.token) >= l.token)
		wrong_tokens++;
	atomic_fetch_sub(&inside, 1);
	if (lh_release(lh, &l) != 0)
		failures++;
	return NULL;
}

int
main(void)
{
	int n = t_count(THREADS, 100);
	unsigned long *threads = calloc((size_t)n, sizeof(*threads));
	struct lh_open_opts o = t_open_opts();
	struct lh_lease l;
	int64_t ns;

	o.max_keys = 2048;
	is(lh_open(&lh, t_table(), &o), 0, "a table");
	for (intptr_t i = 0; i < n; i++)
		threads[i] = t_thread(own_key, (void *)i);
	ok(t_await(&ready, (uint32_t)n, 3 * T_HANG_MS),
	    "%d threads hold a key each", n);
	is(t_holders(lh, "key-7"), 1, "as status says");
	t_post(&go);
	for (int i = 0; i < n; i++)
		t_join(threads[i]);
	is(failures, 0, "all acquired, held and released");

	l = t_hold(lh, "k");
	last = l.token;
	for (int i = 0; i < n; i++)
		threads[i] = t_thread(one_key, NULL);
	ok(t_await_waiters(lh, "k", n), "%d threads wait for one key", n);
	ns = t_now_ns();
	is(lh_release(lh, &l), 0, "released");
	for (int i = 0; i < n; i++)
		t_join(threads[i]);
	diag("%lld us a grant", (long long)((t_now_ns() - ns) / n / 1000));
	is(failures, 0, "each got it and released it");
	is(overlaps, 0, "one at a time");
	is(wrong_tokens, 0, "with growing tokens");
	is(t_waiters(lh, "k"), 0, "nobody is left waiting");
	is(t_holders(lh, "k"), 0, "nobody holds");
	free(threads);
	t_close(lh);
	return done();
}
