/* SPDX-License-Identifier: MIT */
/* test: slow 5 */
/*
 * Guarantee G7: while a writer waits for readers to leave, new readers of the
 * same or lower priority are kept out, those of a higher priority are not; in
 * the default order and in fifo.  In order "barge" newcomers are let in.  The
 * newcomer has just read the key, so that its idle place may still be there,
 * which must not let it in; by name and by opened key, without waiting and
 * with.  When the writer has given up or was served, the newcomer is let in.
 *
 * Otherwise writers would starve behind a stream of readers.
 */
#include <errno.h>
#include "readers.h"

#define ROUNDS 10

struct shape {
	uint32_t order, writer, reader;
	bool barred;
	const char *name;
};

/* How many of the tries, each its own way, were not answered with want. */
static int
tries(struct lh *lh, struct lh_key *key, uint32_t priority, int want)
{
	struct lh_acquire_opts o = t_read_opts(HOUR_MS, 0);
	struct lh_lease l;
	int wrong = 0, r;

	o.priority = priority;
	for (int i = 0; i < ROUNDS; i++) {
		o.max_wait_ms = i % 3 == 2 && want != 0 ? t_ms(5) : 0;
		r = i % 2 ? lh_key_acquire(key, &o, &l) :
		    lh_acquire(lh, "k", &o, &l);
		if (r == 0 && lh_release(lh, &l) != 0)
			wrong++;
		if (r == -ETIMEDOUT && o.max_wait_ms > 0)
			r = -EAGAIN;
		wrong += r != want;
	}
	return wrong;
}

static bool
newcomers(void *arg)
{
	struct shape *s = arg;
	struct lh_open_opts oo = t_open_opts();
	struct lh_acquire_opts o;
	const char *table = t_table();
	struct t_actor *a, *w;
	struct lh_lease before;
	struct lh_key *key;
	struct lh *lh;
	int wrong;

	oo.order = s->order;
	is(lh_open(&lh, table, &oo), 0, "%s", s->name);
	a = t_actor(table);
	w = t_actor(table);
	is(lh_key_open(lh, "k", 0, &key), 0, "an opened key");
	/* its place is behind the other's, where no writer looks */
	before = t_read_hold(lh, "k");
	is(t_do_read(a, "k", HOUR_MS, 0), 0, "a reader holds it");
	is(lh_release(lh, &before), 0, "this one did before");
	/* not seen by asking: a question takes idle places away */
	o = t_opts(HOUR_MS, HOUR_MS);
	o.priority = s->writer;
	t_begin_acquire_opts(w, "k", &o);
	t_sleep_ms(t_ms(100));
	wrong = tries(lh, key, s->reader, s->barred ? -EAGAIN : 0);
	diag("%d of %d newcomers were treated wrongly", wrong, ROUNDS);
	ok(t_await_waiters(lh, "k", 1), "the writer waits on");
	is(t_do_release(a), 0, "the reader releases");
	is(t_result(w), 0, "the writer is granted");
	is(tries(lh, key, s->reader, -EAGAIN), 0, "and keeps all out");
	is(t_do_release(w), 0, "until it releases");
	is(tries(lh, key, s->reader, 0), 0, "then they are let in");

	/* a writer that gives up */
	is(t_do_read(a, "k", HOUR_MS, 0), 0, "a reader again");
	o.max_wait_ms = t_ms(120);
	t_begin_acquire_opts(w, "k", &o);
	is(t_result(w), -ETIMEDOUT, "a writer's wait times out");
	is(tries(lh, key, s->reader, 0), 0, "and is in nobody's way then");
	is(t_do_release(a), 0, "released");
	is(lh_key_close(key), 0, "closed");
	t_actor_end(a);
	t_actor_end(w);
	t_close(lh);
	return wrong == 0;
}

int
main(void)
{
	static struct shape shapes[] = {
		{ LH_ORDER_BOUNDED, 0, 0, true, "bounded, as important" },
		{ LH_ORDER_BOUNDED, 7, 6, true, "bounded, less important" },
		{ LH_ORDER_BOUNDED, 7, 8, false, "bounded, more important" },
		{ LH_ORDER_FIFO, 0, 0, true, "fifo, as important" },
		{ LH_ORDER_FIFO, UINT32_MAX, 0, true, "fifo, less important" },
		{ LH_ORDER_FIFO, 0, UINT32_MAX, false,
		    "fifo, more important" },
		{ LH_ORDER_BARGE, 0, 0, false, "barge" },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		ok(t_tries(3, newcomers, &shapes[i]), "%s: %s",
		    shapes[i].name, shapes[i].barred ? "barred" : "let in");
	return done();
}
