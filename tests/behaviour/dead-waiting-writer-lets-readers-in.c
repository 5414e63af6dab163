/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G6, timing T3: a reader holds the key, writers wait for it, and
 * readers wait behind them.  The writers are killed.  The waiting readers
 * acquire within the bound for a dead first waiter, although the holder goes on
 * and nothing is released that could wake them.
 *
 * Otherwise readers would wait for writers that are dead.
 */
#include <errno.h>
#include "readers.h"

#define MAX 5

struct shape {
	int writers, readers;
	uint32_t order;
};

static struct lh *lh;

static bool
enter(void *arg)
{
	const char *table = lh_table_name(lh);
	struct shape *s = arg;
	struct t_actor *h = t_actor(table), *w[MAX], *r[MAX];
	int64_t killed_ns, worst = 0;
	int entered = 0, waited = 0;

	is(t_do_read(h, "k", HOUR_MS, 0), 0, "a reader holds it");
	for (int i = 0; i < s->writers; i++) {
		w[i] = t_actor(table);
		t_queue(lh, w[i], LH_EXCLUSIVE, 0, i + 1);
	}
	for (int i = 0; i < s->readers; i++) {
		r[i] = t_actor(table);
		t_queue(lh, r[i], LH_SHARED, 0, s->writers + i + 1);
	}
	t_sleep_ms(t_ms(10));
	for (int i = 0; i < s->readers; i++)
		waited += !t_answered(r[i]);
	is(waited, s->readers, "%d readers wait behind %d writers",
	    s->readers, s->writers);
	for (int i = 0; i < s->writers; i++)
		t_actor_kill(w[i]);
	killed_ns = t_now_ns();
	for (int i = 0; i < s->readers; i++) {
		entered += t_result(r[i]) == 0;
		if (t_after_ms(r[i], killed_ns) > worst)
			worst = t_after_ms(r[i], killed_ns);
	}
	is(entered, s->readers, "the writers killed: they enter");
	is(t_do_verify(h), 0, "the first reader holds on");
	is(t_holders(lh, "k"), s->readers + 1, "they are together");
	ok(t_await_waiters(lh, "k", 0), "nobody waits");
	is(t_try(lh, "k", LH_SHARED, 0), 0, "newcomers are let in");
	for (int i = 0; i < s->readers; i++) {
		is(t_do_release(r[i]), 0, "released");
		t_actor_end(r[i]);
	}
	for (int i = 0; i < s->writers; i++)
		t_actor_free(w[i]);
	is(t_do_release(h), 0, "and the first one");
	t_actor_end(h);
	is(t_try(lh, "k", LH_EXCLUSIVE, 0), 0, "it is free");
	diag("the last after %lld ms", (long long)worst);
	return worst <= T3_DEAD_MS;
}

int
main(void)
{
	static struct shape shapes[] = {
		{ 1, 1, LH_ORDER_BOUNDED }, { 3, 5, LH_ORDER_BOUNDED },
		{ 1, 1, LH_ORDER_FIFO }, { 5, 3, LH_ORDER_FIFO },
	};
	struct lh_open_opts o = t_open_opts();

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		o.order = shapes[i].order;
		is(lh_open(&lh, t_table(), &o), 0, "order %u", o.order);
		ok(t_tries(3, enter, &shapes[i]), "within %lld ms",
		    (long long)T3_DEAD_MS);
		t_close(lh);
	}
	return done();
}
