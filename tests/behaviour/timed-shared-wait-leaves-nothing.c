/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G6 and G8, timing T4: a reader's timed wait ends in time and
 * leaves no waiter, no place among the readers and no record, however often:
 * while a writer holds, and behind a writer that waits for readers.  When the
 * writer's own timed wait ends, the readers behind it acquire while the others
 * go on.
 *
 * Otherwise timed waits would slowly fill the table, or block readers.
 */
#include <errno.h>
#include "readers.h"

#define ROUNDS 300

static struct lh *lh;
static struct t_actor *h, *w, *r;

struct span {
	int64_t ms;
};

static bool
in_time(void *arg)
{
	int64_t asked = ((struct span *)arg)->ms, took, began_ns = t_now_ns();
	struct lh_lease l, blank;

	memset(&l, 0x5a, sizeof(l));
	blank = l;
	is(t_read(lh, "k", HOUR_MS, asked, &l), -ETIMEDOUT, "timed out");
	ok(t_has_detail(), "with a reason");
	took = t_now_ns() - began_ns;
	cmp(took, >=, asked * T_NS_PER_MS, "not before %lld ms",
	    (long long)asked);
	ok(memcmp(&l, &blank, sizeof(l)) == 0, "no lease is written");
	return took <= asked * T_NS_PER_MS + T4_MS * T_NS_PER_MS;
}

/* Many waits against the present holder. */
static void
many(int holders, int waiters, const char *what)
{
	struct lh_stats st = { .size = sizeof(st) }, st2 = st;
	struct span spans[] = { { t_ms(1) }, { t_ms(20) }, { t_ms(60) } };
	int n = t_count(ROUNDS, 40), ended = 0;
	struct lh_lease l;

	for (int i = 0; i < 3; i++)
		ok(t_tries(3, in_time, &spans[i]), "%s: within %lld ms more",
		    what, (long long)T4_MS);
	is(lh_stats(lh, &st), 0, "statistics");
	for (int i = 0; i < n; i++) {
		int res = t_read(lh, "k", HOUR_MS, i % 3 == 0, &l);

		ended += res == (i % 3 == 0 ? -ETIMEDOUT : -EAGAIN);
	}
	is(ended, n, "%d waits and tries end", n);
	is(lh_stats(lh, &st2), 0, "statistics");
	is(st2.leases_reserved, st.leases_reserved, "records are used again");
	is(t_holders(lh, "k"), holders, "as many hold as before");
	is(t_waiters(lh, "k"), waiters, "and as many wait");
	is(t_findings(lh), 0, "and the table is sound");
}

/* Readers hold, a writer waits for a time, a reader waits behind it. */
static bool
writer_gives_up(void *arg)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, t_ms(80));
	int64_t took;

	(void)arg;
	is(t_do_read(h, "k", HOUR_MS, 0), 0, "a reader");
	t_begin_acquire_opts(w, "k", &o);
	ok(t_await_waiters(lh, "k", 1), "a writer waits");
	t_begin_read(r, "k", HOUR_MS, HOUR_MS);
	is(t_result(w), -ETIMEDOUT, "the writer's wait times out");
	is(t_result(r), 0, "the reader behind it enters");
	took = t_after_ms(r, w->ended_ns);
	is(t_holders(lh, "k"), 2, "beside the first");
	is(t_waiters(lh, "k"), 0, "nobody waits");
	is(t_do_release(r), 0, "released");
	is(t_do_release(h), 0, "both");
	diag("after %lld ms", (long long)took);
	return took <= T3_MS;
}

int
main(void)
{
	struct lh_open_opts o = t_open_opts();
	const char *table = t_table();

	o.max_leases = 640;
	is(lh_open(&lh, table, &o), 0, "a table with few records");
	h = t_actor(table);
	w = t_actor(table);
	r = t_actor(table);
	is(t_do_acquire(h, "k", HOUR_MS, 0), 0, "a writer holds it");
	many(1, 0, "behind a writer");
	is(t_do_release(h), 0, "it releases");
	is(t_try(lh, "k", LH_SHARED, 0), 0, "then readers are let in");
	is(t_do_read(h, "k", HOUR_MS, 0), 0, "a reader holds it");
	is(t_try(lh, "k", LH_SHARED, 0), 0, "beside another");
	t_queue(lh, w, LH_EXCLUSIVE, 0, 1);
	many(1, 1, "behind a waiting writer");
	is(t_do_release(h), 0, "it releases");
	is(t_result(w), 0, "the writer has it");
	is(t_do_release(w), 0, "and releases");
	ok(t_tries(3, writer_gives_up, NULL), "within %lld ms",
	    (long long)T3_MS);
	is(t_try(lh, "k", LH_EXCLUSIVE, 0), 0, "the key is free");
	t_actor_end(h);
	t_actor_end(w);
	t_actor_end(r);
	t_close(lh);
	return done();
}
