/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G7: in a table of LH_ORDER_FIFO nobody overtakes.  Waiters are
 * granted the key in the order in which they came, and a newcomer that tries at
 * the moment of a release is refused while somebody waits.  A newcomer of
 * higher priority goes before those that wait, in this order, too.
 *
 * Otherwise a program that relies on fairness would starve.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define WAITERS 6
#define ROUNDS 40

static struct lh *lh;

static bool
in_order(void *arg)
{
	struct t_actor *w[WAITERS];
	bool had[WAITERS] = { false };
	struct lh_lease l, newcomer;
	int overtaken = 0, in_place = 0, alone = 0, who;

	l = t_hold(lh, "k");
	for (int i = 0; i < WAITERS; i++) {
		w[i] = t_actor(arg);
		t_begin_acquire(w[i], "k", 3600000, 3600000);
		if (!t_await_waiters(lh, "k", i + 1))
			bail_out("a waiter is missing");
	}
	is(lh_release(lh, &l), 0, "released to %d waiters", WAITERS);
	for (int i = 0; i < WAITERS; i++) {
		if (t_acquire(lh, "k", 3600000, 0, &newcomer) == 0) {
			overtaken++;
			lh_release(lh, &newcomer);
		}
		who = t_who(w, WAITERS, had);
		if (who < 0)
			bail_out("nobody is granted");
		had[who] = true;
		if (w[who]->result != 0)
			fail("waiter %d: %s", who, w[who]->detail);
		if (who == i)
			in_place++;
		else
			diag("turn %d went to number %d", i, who);
		alone += t_waiters(lh, "k") == WAITERS - 1 - i;
		if (t_do_release(w[who]) != 0)
			fail("waiter %d releases", who);
	}
	is(alone, WAITERS, "they are granted one at a time");
	for (int i = 0; i < WAITERS; i++)
		t_actor_end(w[i]);
	diag("%d overtaken", overtaken);
	return in_place == WAITERS && overtaken == 0;
}

/* Release and ask at once: how often the newcomer is let in. */
static int
let_in(struct t_actor *w)
{
	struct lh_lease l, newcomer;
	int n = 0;

	for (int i = 0; i < ROUNDS; i++) {
		l = t_hold(lh, "k");
		t_begin_acquire(w, "k", 3600000, 3600000);
		if (!t_await_waiters(lh, "k", 1))
			bail_out("the waiter is missing");
		lh_release(lh, &l);
		if (t_acquire(lh, "k", 3600000, 0, &newcomer) == 0) {
			n++;
			lh_release(lh, &newcomer);
		}
		if (t_result(w) != 0 || t_do_release(w) != 0)
			fail("the waiter is granted in the end");
	}
	return n;
}

/* The same with a higher priority; stopped, the waiter cannot be quicker. */
static void
higher_goes_first(struct t_actor *w)
{
	struct lh_acquire_opts o = t_opts(3600000, 0);
	struct lh_lease l = t_hold(lh, "k");

	o.priority = 1;
	t_begin_acquire(w, "k", 3600000, 3600000);
	if (!t_await_waiters(lh, "k", 1))
		bail_out("the waiter is missing");
	t_stop(w->pid);
	is(lh_release(lh, &l), 0, "released while the waiter is stopped");
	is(lh_acquire(lh, "k", &o, &l), 0, "a higher priority goes first");
	t_cont(w->pid);
	t_sleep_ms(5);
	ok(!t_answered(w), "the waiter waits on");
	is(lh_release(lh, &l), 0, "released");
	is(t_result(w), 0, "the waiter is granted");
	is(t_do_release(w), 0, "and releases");
}

static bool
none_let_in(void *arg)
{
	return let_in(arg) == 0;
}

int
main(void)
{
	struct lh_stats st = { .size = sizeof(st) };
	struct lh_open_opts o = t_open_opts();
	const char *table = t_table();
	struct t_actor *w;

	o.order = LH_ORDER_FIFO;
	is(lh_open(&lh, table, &o), 0, "a table of that order");
	is(lh_stats(lh, &st), 0, "statistics");
	is(st.order, LH_ORDER_FIFO, "tell it");
	w = t_actor(table);	/* its options ask for another: ignored */
	ok(t_tries(3, in_order, (void *)(uintptr_t)table),
	    "in order, and no newcomer between them");
	ok(t_tries(3, none_let_in, w), "newcomers never overtake");
	higher_goes_first(w);
	t_actor_end(w);
	t_close(lh);
	return done();
}
