/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G2, G6 and G7: a thousand threads wait for one key in a table
 * of fifo order, two readers to a writer.  Status reports them in the order in
 * which they are due, and they are served in it.  Tokens show the order: those
 * of a row of readers are between those of the writers around it.  The time
 * that queueing took is printed.
 *
 * Otherwise a long queue would lose its order, or a waiter.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "support/part.h"
#include "readers.h"

#define THREADS 1000

static struct lh *lh;
static _Atomic int inside, together, failures;

static struct waiter {
	uint32_t mode, tid;
	uint64_t token;
	int64_t queued_ns;
} *all;
static int n;

/* The waiters in order, by index; filled in from a report. */
static int *due;
static int n_due;

static void *
wait_for_it(void *arg)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);
	struct waiter *w = arg;
	struct lh_lease l;
	int weight = w->mode == LH_SHARED ? 1 : 1000000, others;

	w->tid = (uint32_t)syscall(SYS_gettid);
	o.mode = w->mode;
	if (lh_acquire(lh, "k", &o, &l) != 0) {
		failures++;
		return NULL;
	}
	w->token = l.token;
	others = atomic_fetch_add(&inside, weight);
	if (others >= 1000000 || (weight > 1 && others > 0))
		together++;
	atomic_fetch_sub(&inside, weight);
	if (lh_release(lh, &l) != 0)
		failures++;
	return NULL;
}

static int
by_rank(const struct lh_key_info *info, void *arg)
{
	(void)arg;
	n_due = 0;
	for (uint32_t i = 0; i < info->n_waiters && (int)i < n; i++) {
		const struct lh_party *p = &info->waiters[i];
		int j = 0;

		while (j < n && all[j].tid != p->tid)
			j++;
		if (p->rank != i + 1 || j == n || p->mode != all[j].mode)
			return 1;
		due[n_due++] = j;
	}
	return 0;
}

/* How many were not served in their place. */
static int
out_of_order(uint64_t first)
{
	/* the largest token up to the last writer, and since */
	uint64_t before = first, row = first;
	int wrong = 0;

	for (int i = 0; i < n_due; i++) {
		struct waiter *w = &all[due[i]];

		if (w->mode == LH_SHARED) {
			wrong += w->token < before;
			if (w->token > row)
				row = w->token;
			continue;
		}
		wrong += w->token <= row;
		if (w->token > row)
			row = w->token;
		before = row;
	}
	return wrong;
}

static bool
served(void *arg)
{
	unsigned long *threads = calloc((size_t)n, sizeof(*threads));
	struct lh_lease l = t_hold(lh, "k");
	int64_t ns;
	int wrong;

	(void)arg;
	ns = t_now_ns();
	for (int i = 0; i < n; i++) {
		all[i] = (struct waiter){ .mode = i % 3 == 2 ? LH_EXCLUSIVE :
		    LH_SHARED };
		threads[i] = t_thread(wait_for_it, &all[i]);
	}
	ok(t_await_waiters(lh, "k", n), "%d threads wait", n);
	diag("%lld ms until all did", (long long)t_since_ms(ns));
	is(lh_status(lh, "k", NULL, by_rank, NULL), 0,
	    "each is reported with rank and mode");
	is(n_due, n, "all of them");
	ns = t_now_ns();
	is(lh_release(lh, &l), 0, "released");
	for (int i = 0; i < n; i++)
		t_join(threads[i]);
	diag("%lld us a grant", (long long)((t_now_ns() - ns) / n / 1000));
	is(failures, 0, "each got it and released it");
	is(together, 0, "no writer with anybody");
	is(t_waiters(lh, "k"), 0, "nobody is left waiting");
	is(t_holders(lh, "k"), 0, "nobody holds");
	wrong = out_of_order(l.token);
	diag("%d of %d out of order", wrong, n);
	free(threads);
	return wrong == 0;
}

static void
play(void)
{
	struct lh_open_opts o = t_open_opts();

	o.order = LH_ORDER_FIFO;
	is(lh_open(&lh, t_table(), &o), 0, "a table of fifo order");
	n = t_count(THREADS, 60);
	all = calloc((size_t)n, sizeof(*all));
	due = calloc((size_t)n, sizeof(*due));
	ok(t_tries(3, served, NULL), "in the order in which they came");
	free(all);
	free(due);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 30, "thousand waiters");
	return done();
}
