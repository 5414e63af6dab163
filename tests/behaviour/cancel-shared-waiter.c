/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G6, G7 and G8: a reader in the queue is cancelled.  It returns
 * -ECANCELED soon and leaves nothing behind, and the others acquire in their
 * turn.  A cancelled writer frees the way for the readers behind it, because
 * readers hold the key.  A switch that was set before the call prevents the
 * wait.  The waiters are threads, because a switch serves one process.
 *
 * Otherwise readers would wait behind a writer that does not wait any more.
 */
#include <errno.h>
#include "support/part.h"
#include "readers.h"

#define WAITERS 4

static struct lh *lh;
static struct t_actor *h;

struct waiter {
	struct lh_cancel cancel;
	struct lh_lease lease;
	struct t_event done_ev;
	uint32_t mode;
	int64_t done_ns;
	int result;
	unsigned long thread;
};

static void *
wait_for_it(void *arg)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, LH_WAIT_FOREVER);
	struct waiter *w = arg;

	o.cancel = &w->cancel;
	o.mode = w->mode;
	w->result = lh_acquire(lh, "k", &o, &w->lease);
	w->done_ns = t_now_ns();
	t_post(&w->done_ev);
	return NULL;
}

static struct waiter *
queue_up(const uint32_t *modes)
{
	struct waiter *w = t_shared(sizeof(*w) * WAITERS);

	for (int i = 0; i < WAITERS; i++) {
		w[i].mode = modes[i];
		w[i].cancel = (struct lh_cancel)LH_CANCEL_INIT;
		w[i].thread = t_thread(wait_for_it, &w[i]);
		if (!t_await_waiters(lh, "k", i + 1))
			bail_out("a waiter is missing");
	}
	return w;
}

/* ms until it had returned; its result is checked. */
static int64_t
returned(struct waiter *w, int want, int64_t from_ns, const char *what)
{
	ok(t_await(&w->done_ev, 1, T_HANG_MS), "%s returns", what);
	is(w->result, want, "with %d", want);
	return (w->done_ns - from_ns) / T_NS_PER_MS;
}

static void
finish(struct waiter *w)
{
	for (int i = 0; i < WAITERS; i++)
		t_join(w[i].thread);
	is(t_waiters(lh, "k"), 0, "no waiter is left");
	is(t_holders(lh, "k"), 0, "and no holder");
}

static bool
reader_cancelled(void *arg)
{
	static const uint32_t modes[WAITERS] = { LH_SHARED, LH_SHARED,
		LH_SHARED, LH_EXCLUSIVE };
	int victim = *(int *)arg;
	struct waiter *w;
	int64_t ns, took, worst;

	is(t_do_acquire(h, "k", HOUR_MS, 0), 0, "a writer holds it");
	w = queue_up(modes);
	ns = t_now_ns();
	is(lh_cancel(&w[victim].cancel), 0, "reader %d is cancelled", victim);
	worst = returned(&w[victim], -ECANCELED, ns, "it");
	is(lh_cancel(&w[victim].cancel), 0, "again: harmless");
	is(t_waiters(lh, "k"), WAITERS - 1, "the others wait");
	ns = t_now_ns();
	is(t_do_release(h), 0, "the writer releases");
	for (int i = 0; i < WAITERS - 1; i++) {
		if (i == victim)
			continue;
		took = returned(&w[i], 0, ns, "another reader");
		worst = took > worst ? took : worst;
	}
	is(t_holders(lh, "k"), WAITERS - 2, "the readers are together");
	is(atomic_load(&w[WAITERS - 1].done_ev.count), 0, "a writer waits");
	ns = t_now_ns();
	for (int i = 0; i < WAITERS - 1; i++)
		if (i != victim)
			is(lh_release(lh, &w[i].lease), 0, "released");
	took = returned(&w[WAITERS - 1], 0, ns, "the writer");
	is(lh_release(lh, &w[WAITERS - 1].lease), 0, "released");
	finish(w);
	worst = took > worst ? took : worst;
	diag("at most %lld ms for a step", (long long)worst);
	return worst <= T3_MS;
}

static bool
writer_cancelled(void *arg)
{
	static const uint32_t modes[WAITERS] = { LH_EXCLUSIVE, LH_SHARED,
		LH_SHARED, LH_EXCLUSIVE };
	struct waiter *w;
	int64_t ns, took, worst;

	(void)arg;
	is(t_do_read(h, "k", HOUR_MS, 0), 0, "a reader holds it");
	w = queue_up(modes);
	t_sleep_ms(t_long(10));
	is(t_waiters(lh, "k"), WAITERS, "readers wait behind a writer");
	ns = t_now_ns();
	is(lh_cancel(&w[0].cancel), 0, "the writer is cancelled");
	worst = returned(&w[0], -ECANCELED, ns, "it");
	for (int i = 1; i < 3; i++) {
		took = returned(&w[i], 0, ns, "a reader behind it");
		worst = took > worst ? took : worst;
	}
	is(t_holders(lh, "k"), 3, "beside the first one");
	is(t_waiters(lh, "k"), 1, "the other writer waits");
	is(lh_cancel(&w[3].cancel), 0, "until it is cancelled");
	(void)returned(&w[3], -ECANCELED, ns, "it");
	for (int i = 1; i < 3; i++)
		is(lh_release(lh, &w[i].lease), 0, "released");
	is(t_do_release(h), 0, "and the first one");
	finish(w);
	diag("at most %lld ms for a step", (long long)worst);
	return worst <= T3_MS;
}

static void
before_the_wait(void)
{
	struct lh_acquire_opts o = t_read_opts(HOUR_MS, HOUR_MS);
	struct lh_cancel cancel = LH_CANCEL_INIT;
	struct lh_lease l;
	int64_t ns = t_now_ns();

	is(t_do_acquire(h, "k", HOUR_MS, 0), 0, "a writer holds it");
	is(lh_cancel(&cancel), 0, "cancelled");
	o.cancel = &cancel;
	is(lh_acquire(lh, "k", &o, &l), -ECANCELED, "no wait at all");
	cmp(t_since_ms(ns), <=, T3_MS, "at once");
	is(t_waiters(lh, "k"), 0, "nobody waits");
	is(t_do_release(h), 0, "released");
}

static void
play(void)
{
	static int victims[] = { 0, 1, 2 };
	const char *table = t_table();

	h = t_actor(table);
	lh = t_open(table);
	for (int i = 0; i < 3; i++)
		ok(t_tries(3, reader_cancelled, &victims[i]),
		    "each within %lld ms", (long long)T3_MS);
	ok(t_tries(3, writer_cancelled, NULL), "each within %lld ms",
	    (long long)T3_MS);
	before_the_wait();
	t_actor_end(h);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 30, "cancel shared waiter");
	return done();
}
