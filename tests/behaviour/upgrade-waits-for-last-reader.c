/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G6 and G7, timing T3: a reader that waits to upgrade succeeds
 * when the last other reader has left, whether that one is before or behind it
 * in the chain, and before all other waiters, of any priority.  New readers
 * stay out meanwhile, of higher priority, too.  Its lease was held all the
 * time, and has a new token; other waiters acquire after its release.
 *
 * Otherwise an upgrade would starve, or lose its key in between.
 */
#include <errno.h>
#include "support/part.h"
#include "upgrade.h"

static struct lh *lh;
static struct t_actor *u, *w, *q, *r[2];

static bool
last_leaves(void *arg)
{
	bool elder = arg != NULL;	/* the upgrader came last, or first */
	uint64_t was;
	int64_t ns;

	if (elder)
		is(t_do_read(u, "k", HOUR_MS, 0), 0, "it reads");
	for (int i = 0; i < 2; i++)
		is(t_do_read(r[i], "k", HOUR_MS, 0), 0, "another reads");
	if (!elder)
		is(t_do_read(u, "k", HOUR_MS, 0), 0, "it reads");
	was = u->lease.token;
	t_queue(lh, w, LH_EXCLUSIVE, UINT32_MAX, 1);
	t_queue(lh, q, LH_SHARED, 0, 2);
	t_begin_upgrade(u, HOUR_MS);
	ok(t_await_waiters(lh, "k", 3), "it waits, too");
	is(t_findings(lh), 0, "the queue is in order");
	is(t_try(lh, "k", LH_SHARED, UINT32_MAX), -EAGAIN,
	    "new readers stay out");
	is(t_do_release(r[0]), 0, "one leaves");
	t_sleep_ms(t_long(30));
	ok(!t_answered(u), "there is another");
	ns = t_now_ns();
	is(t_do_release(r[1]), 0, "the last one leaves");
	is(t_result(u), 0, "it has the key");
	is(u->lease.mode, LH_EXCLUSIVE, "for itself");
	cmp(u->lease.token, >, was, "with a larger token");
	ns = t_after_ms(u, ns);
	ok(!t_answered(w) && !t_answered(q), "the others wait on");
	is(t_waiters(lh, "k"), 2, "it is not among them");
	is(t_holders(lh, "k"), 1, "it holds it alone");
	is(t_do_verify(u), 0, "and its lease is good");
	is(t_do_release(u), 0, "released");
	is(t_result(w), 0, "then the writer");
	cmp(w->lease.token, >, u->lease.token, "whose token is larger");
	is(t_do_release(w), 0, "released");
	is(t_result(q), 0, "then the reader");
	is(t_do_release(q), 0, "released");
	diag("%lld ms after the last one left", (long long)ns);
	return ns <= T3_MS;
}

/* Nothing to wait for: as lh_convert(). */
static void
at_once(void)
{
	struct lh_lease l = t_read_hold(lh, "a");

	is(t_upgrade(lh, &l, HOUR_MS), 0, "the only reader has it at once");
	is(lh_verify(lh, &l), 0, "it is good");
	is(t_upgrade(lh, &l, HOUR_MS), 0, "again: nothing to do");
	is(lh_convert_wait(lh, &l, LH_SHARED, NULL), 0, "down, at once");
	is(l.mode, LH_SHARED, "it is shared");
	is(t_read(lh, "a", HOUR_MS, 0, &(struct lh_lease){ 0 }), 0,
	    "another reads");
	is(t_upgrade(lh, &l, 0), -EAGAIN, "without waiting: refused");
	is(lh_convert_wait(lh, &l, 7, NULL), -EINVAL, "no such mode");
	is(lh_convert_wait(lh, NULL, LH_EXCLUSIVE, NULL), -EINVAL, "no lease");
	is(lh_convert_wait(NULL, &l, LH_EXCLUSIVE, NULL), -EINVAL, "no table");
	is(lh_release(lh, &l), 0, "released");
	is(t_upgrade(lh, &l, HOUR_MS), -ESTALE, "a released one");
}

static void
play(void)
{
	const char *table = t_table();

	u = t_actor(table);
	w = t_actor(table);
	q = t_actor(table);
	r[0] = t_actor(table);
	r[1] = t_actor(table);
	lh = t_open(table);
	ok(t_tries(3, last_leaves, NULL), "within %lld ms", (long long)T3_MS);
	ok(t_tries(3, last_leaves, lh), "within %lld ms", (long long)T3_MS);
	at_once();
	t_actor_end(u);
	t_actor_end(w);
	t_actor_end(q);
	t_actor_end(r[0]);
	t_actor_end(r[1]);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 30, "upgrade waits for last reader");
	return done();
}
