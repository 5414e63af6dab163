/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G7: a reader in the queue is not overtaken by a later writer: in
 * fifo never, and in the default order not after it has waited for more than a
 * millisecond.  A writer that tries at the moment of the release is refused.  A
 * writer of higher priority goes before it; other new readers join it.
 *
 * Otherwise readers would starve behind a stream of writers.
 */
#include <errno.h>
#include "readers.h"

#define ROUNDS 25

static struct lh *lh;

struct shape {
	struct t_actor *r;
	int64_t wait_ms;
};

static bool
not_overtaken(void *arg)
{
	struct shape *s = arg;
	int overtaken = 0, n = t_count(ROUNDS, 4);

	for (int i = 0; i < n; i++) {
		struct lh_lease l = t_hold(lh, "k");

		t_queue(lh, s->r, LH_SHARED, 0, 1);
		t_sleep_ms(t_ms(s->wait_ms));
		lh_release(lh, &l);
		overtaken += t_try(lh, "k", LH_EXCLUSIVE, 0) == 0;
		if (t_result(s->r) != 0)
			fail("the reader is granted: %s", s->r->detail);
		if (t_try(lh, "k", LH_SHARED, 0) != 0)
			fail("another enters beside it: %s",
			    lh_error_detail());
		if (t_do_release(s->r) != 0)
			fail("and releases");
	}
	diag("overtaken %d times of %d", overtaken, n);
	return overtaken == 0;
}

/* The reader is stopped, so that it cannot be quicker. */
static void
higher_goes_first(struct t_actor *r)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, 0);
	struct lh_lease l = t_hold(lh, "k");

	o.priority = 1;
	t_queue(lh, r, LH_SHARED, 0, 1);
	t_stop(r->pid);
	is(lh_release(lh, &l), 0, "released while the reader is stopped");
	is(lh_acquire(lh, "k", &o, &l), 0, "a higher priority goes first");
	t_cont(r->pid);
	t_sleep_ms(5);
	ok(!t_answered(r), "the reader waits on");
	is(lh_release(lh, &l), 0, "released");
	is(t_result(r), 0, "the reader is granted");
	is(t_do_release(r), 0, "and releases");
}

static void
in_table(uint32_t order, const char *name, int64_t wait_ms)
{
	struct lh_open_opts o = t_open_opts();
	struct shape s = { .wait_ms = wait_ms };
	const char *table = t_table();

	o.order = order;
	is(lh_open(&lh, table, &o), 0, "%s", name);
	s.r = t_actor(table);
	ok(t_tries(3, not_overtaken, &s), "newcomers never overtake");
	higher_goes_first(s.r);
	t_actor_end(s.r);
	t_close(lh);
}

int
main(void)
{
	in_table(LH_ORDER_FIFO, "fifo", 0);
	in_table(LH_ORDER_BOUNDED, "the default order", 10);
	return done();
}
