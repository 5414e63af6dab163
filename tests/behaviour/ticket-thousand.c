/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G6 and G7: a thousand tickets of one process wait for one key,
 * then each for one of a thousand keys, with no more threads than one ticket
 * needs.  Those of one key are granted in their order, and all of them soon.
 *
 * Otherwise a server with many clients would need a thread for each wait.
 */
#include <errno.h>
#include <stdlib.h>
#include "support/support.h"
#include "tap.h"

#define TICKETS 1000
#define HOUR_MS 3600000

static struct lh *lh;
static struct lh_ticket **tickets;
static int n;

static int
start(const char *key, struct lh_ticket **t)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);

	return lh_acquire_start(lh, key, &o, t);
}

/* By finishing them all the time, as a program without poll() would. */
static void
one_key(void)
{
	struct lh_lease l = t_hold(lh, "k");
	int started = 0, served = 0, wrong = 0, before;
	uint64_t token = l.token;
	int64_t ns = t_now_ns();

	is(start("k", &tickets[0]), 0, "a first ticket waits");
	before = t_threads();
	is(lh_ticket_cancel(tickets[0]), 0, "given up");
	for (int i = 0; i < n; i++)
		started += start("k", &tickets[i]) == 0;
	is(started, n, "%d tickets for one key", n);
	diag("%lld us a ticket", (long long)((t_now_ns() - ns) / n / 1000));
	is(t_threads(), before, "and no more threads than for one");
	is(t_waiters(lh, "k"), n, "all of them wait");
	is(lh_ticket_rank(tickets[n - 1]), n, "the last is the last");
	ns = t_now_ns();
	is(lh_release(lh, &l), 0, "released");
	for (int i = 0; i < n; i++) {
		struct lh_lease m;

		if (!t_until(T_HANG_MS, lh_ticket_finish(tickets[i], &m) == 0))
			break;
		served++;
		wrong += m.token <= token;
		token = m.token;
		wrong += lh_release(lh, &m) != 0;
	}
	is(served, n, "each got the key");
	is(wrong, 0, "in their order");
	diag("%lld us a grant", (long long)((t_now_ns() - ns) / n / 1000));
	is(t_waiters(lh, "k"), 0, "nobody waits");
}

static void
many_keys(void)
{
	struct lh_lease *l = calloc((size_t)n, sizeof(*l));
	int started = 0, granted = 0;
	char key[32];
	int64_t ns;

	for (int i = 0; i < n; i++) {
		(void)snprintf(key, sizeof(key), "k%d", i);
		l[i] = t_hold(lh, key);
		started += start(key, &tickets[i]) == 0;
	}
	is(started, n, "as many keys");
	t_sleep_ms(100);
	ns = t_now_ns();
	for (int i = 0; i < n; i++)
		(void)lh_release(lh, &l[i]);
	for (int i = 0; i < n; i++)
		granted += t_until(T_HANG_MS,
		    lh_ticket_rank(tickets[i]) == 0);
	is(granted, n, "each is granted");
	diag("all within %lld ms", (long long)t_since_ms(ns));
	for (int i = 0; i < n; i++)
		granted -= i % 2 != 0 ? lh_ticket_cancel(tickets[i]) == 0 :
		    lh_ticket_finish(tickets[i], &l[i]) == 0;
	is(granted, 0, "finished or given up");
	for (int i = 0; i < n; i += 2)
		(void)lh_release(lh, &l[i]);
	free(l);
}

int
main(void)
{
	struct lh_open_opts o = t_open_opts();

	o.order = LH_ORDER_FIFO;
	o.max_keys = 4096;
	is(lh_open(&lh, t_table(), &o), 0, "a table of fifo order");
	n = t_count(TICKETS, 60);
	tickets = calloc((size_t)n, sizeof(struct lh_ticket *));
	one_key();
	many_keys();
	free(tickets);
	t_close(lh);
	return done();
}
