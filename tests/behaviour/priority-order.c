/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G7: waiters are granted the key by priority, higher first, and
 * among equals in the order in which they came; over the whole range of 32
 * bits.  The tokens of the grants show the order, not a clock.
 *
 * Otherwise an urgent job would wait behind others.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

static const uint32_t priorities[] = { 0, 5, 5, UINT32_MAX, 1, 0x80000000u,
	5, 0, 0x7fffffff };
#define N (int)(sizeof(priorities) / sizeof(priorities[0]))

/* Place of waiter i: how many are due before it. */
static int
place(int i)
{
	int n = 0;

	for (int j = 0; j < N; j++)
		n += priorities[j] > priorities[i] ||
		    (priorities[j] == priorities[i] && j < i);
	return n;
}

struct scene {
	struct lh *lh;
	struct t_actor *w[N];
};

static bool
in_order(void *arg)
{
	struct lh_acquire_opts o = t_opts(3600000, 3600000);
	struct scene *s = arg;
	struct lh_lease l = t_hold(s->lh, "k");
	int in_place = 0, larger = 0, alone = 0, i;
	bool had[N] = { false };
	uint64_t last = l.token;

	for (i = 0; i < N; i++) {
		o.priority = priorities[i];
		t_begin_acquire_opts(s->w[i], "k", &o);
		if (!t_await_waiters(s->lh, "k", i + 1))
			bail_out("a waiter is missing");
	}
	is(lh_release(s->lh, &l), 0, "released to %d waiters", N);
	for (int turn = 0; turn < N; turn++) {
		i = t_who(s->w, N, had);
		if (i < 0)
			bail_out("nobody is granted");
		had[i] = true;
		if (s->w[i]->result != 0)
			fail("waiter %d: %s", i, s->w[i]->detail);
		if (place(i) == turn)
			in_place++;
		else
			diag("turn %d went to number %d, priority %#x", turn,
			    i, priorities[i]);
		alone += t_waiters(s->lh, "k") == N - 1 - turn;
		larger += s->w[i]->lease.token > last;
		last = s->w[i]->lease.token;
		if (t_do_release(s->w[i]) != 0)
			fail("waiter %d releases", i);
	}
	is(alone, N, "they are granted one at a time");
	is(larger, N, "and tokens grow with each turn");
	return in_place == N;
}

int
main(void)
{
	const char *table = t_table();
	struct scene s;

	for (int i = 0; i < N; i++)
		s.w[i] = t_actor(table);
	s.lh = t_open(table);
	ok(t_tries(3, in_order, &s), "each in its turn");
	ok(t_tries(3, in_order, &s), "and again");
	for (int i = 0; i < N; i++)
		t_actor_end(s.w[i]);
	t_close(s.lh);
	return done();
}
